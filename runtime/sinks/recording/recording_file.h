// A recording as a file. It has everything that a session's sinks received, so that other sinks can receive it later
// (replay.h).
//
// The file begins with `recording_magic`. Blocks follow, each compressed by zstd with a checksum. Before each block are
// two u32: its size in the file, and its size when decompressed. A block has whole events: u32 size, u8 Event, and the
// bytes of the event. All numbers are little-endian.
//
// A session writes a block at least once a second. So a file whose session was killed, or whose disk was full, is
// readable up to its last second, and a damaged one up to the damage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

constexpr std::string_view recording_magic = "sonde recording 1\n";

// The kinds of events. recorder.cc writes their bytes and replay.cc reads them.
enum class Event : uint8_t {
    About = 1, // JSON: where and when the recording was made
    Plan,      // the session's plan (plan/plan_file.h)
    Answer,    // an answer of the symbolizer (kept_symbols.h), before the first event that needs it
    Start,     // Sink::start()
    Print,     // a Print record: its header, then its payload
    Text,      // u8 SinkText, then the text
    Look,      // the globals and the clocks: i64 now, i64 real time, i64 kernel time, u8 handlers_follow, the changes
    Stop,      // Sink::stop()
    Detached,  // Sink::detached()
    Finish,    // Sink::finish(): u8 aborted
    End,       // i32 exit status, u64 errors, u64 skipped, then JSON of the accounting
    Dump,      // the last event of a flight recorder: the reason
    Last = Dump
};

// Added to RecordHeader::type in Event::Print: the record comes from the same run of a handler as the one before.
constexpr uint32_t same_run = 1u << 31;

// The bytes of Event::Answer.
std::string answer_event(std::string_view question, std::string_view answer);

// Events that will become a block.
class RecordingBlock {
  public:
    static constexpr size_t full_bytes = 256 << 10;

    void add(Event kind, std::string_view bytes);
    size_t size() const { return events_.size(); } // in bytes
    // Returns the block as it is in a file, and empties it. Errors: no memory, or the events are larger than a block
    // may be.
    Result<std::string> pack();

  private:
    std::string events_;
};

class RecordingWriter {
  public:
    // Creates or replaces the file.
    static Result<std::unique_ptr<RecordingWriter>> create(const std::string& path);

    // Adds an event. A full block is written at once. After a failure, events are dropped.
    void add(Event kind, std::string_view bytes);
    // Writes the events that wait.
    void flush();
    // Writes a block of RecordingBlock::pack().
    void write(std::string_view packed);
    // Why writing failed; empty while it works.
    const std::optional<Error>& failure() const { return failure_; }
    uint64_t bytes() const { return bytes_; } // in the file

  private:
    RecordingWriter(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    Fd file_;
    std::string path_;
    RecordingBlock block_;
    uint64_t bytes_ = 0;
    std::optional<Error> failure_;
};

// Reads the events of a block that is decompressed.
class EventCursor {
  public:
    struct Item {
        Event kind;
        std::string_view bytes; // in the block
    };
    EventCursor() = default;
    explicit EventCursor(std::string_view block) : block_(block) {}
    // Returns the next event; nothing at the end, or if the block is damaged.
    std::optional<Item> next();
    bool failed() const { return failed_; }

  private:
    std::string_view block_;
    size_t at_ = 0;
    bool failed_ = false;
};
// Decompresses a block of RecordingBlock::pack().
Result<std::string> unpack_block(std::string_view packed);

class RecordingReader {
  public:
    // Errors: the file cannot be read, or is not a recording.
    static Result<std::unique_ptr<RecordingReader>> open(const std::string& path);

    using Item = EventCursor::Item; // valid until the next call of next()
    // Returns the next event; nothing at the end of the file or at damage.
    std::optional<Item> next();
    // The damage at which reading ended: "byte 1234: ..."; empty: none.
    const std::string& damage() const { return damage_; }

  private:
    RecordingReader(Fd file, uint64_t size) : file_(std::move(file)), size_(size) {}
    bool read_block();
    Fd file_;
    uint64_t size_, at_ = 0; // of the file, and the position of the next block, in bytes
    std::string block_;
    EventCursor events_; // in block_
    std::string damage_;
};

} // namespace sonde
