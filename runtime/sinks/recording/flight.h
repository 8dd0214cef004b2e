// The flight recorder's memory in the session: the last events, until something happens. Nothing is written before.
//
// It holds all events of a session whose handlers send their records at once. If their records stay in the kernel
// (runtime/engine/flight_rings.h), it holds what the session itself adds: the output of begin, end and timer handlers,
// warnings, and looks at the globals.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/sinks/recording/recording_file.h"

namespace sonde {

// How much to keep. Older events are dropped.
struct FlightLimit {
    static constexpr uint64_t default_bytes = 64 << 20;
    bool is_wanted = false;
    uint64_t bytes = default_bytes; // of the rings in the kernel, or compressed in the session
    int64_t ns = INT64_MAX;
};

class FlightRing {
  public:
    explicit FlightRing(const FlightLimit& limit) : limit_(limit) {}

    // Adds an event to the current block. `time`: on the clock of records. Returns true if the block is full.
    bool add(Event kind, std::string_view bytes, int64_t time);
    // Ends the current block, and drops blocks beyond the limit. `now`: now_ns(). Returns false without memory; then
    // the block is dropped.
    bool end_block(int64_t now);
    // Writes the answers of dropped blocks, then all blocks.
    void write(RecordingWriter& file) const;
    // The same, one event after the other: writes all events up to a time, and those after it at the next call. Leaves
    // out prints and texts before `since`. Times are on the clock of records.
    class Reader {
      public:
        Reader(const FlightRing& ring, int64_t since) : ring_(ring), since_(since) {}
        void write_until(int64_t time, RecordingWriter& file);
        uint64_t events() const { return events_written_; } // prints and texts that were written
        int64_t first() const { return first_; }            // the time of the first one; INT64_MAX: none

      private:
        bool begin_block();
        const FlightRing& ring_;
        const int64_t since_;
        int64_t first_ = INT64_MAX;
        uint64_t events_written_ = 0;
        bool has_begun_ = false;
        size_t block_ = 0, event_ = 0; // the next ones
        std::string events_;
        EventCursor cursor_;
    };
    // Drops all blocks, and keeps their answers.
    void clear();
    // Whether answers will be dropped soon, so that those that are still needed must be told again. Returns true once.
    bool take_tell_again() { return std::exchange(tell_again_, false); }

    uint64_t events() const { return events_; }   // prints and texts in the blocks
    uint64_t dropped() const { return dropped_; } // prints and texts in dropped blocks
    int64_t since() const { return blocks_.empty() ? 0 : blocks_.front().began_ns; } // now_ns() of the oldest event

  private:
    struct Block {
        std::string packed;
        int64_t began_ns, ended_ns;
        uint64_t events;
        std::vector<int64_t> times; // of all events
    };
    void drop_oldest();
    void write_answers(RecordingWriter& file) const;
    const FlightLimit limit_;
    RecordingBlock block_;
    std::vector<int64_t> times_; // in the current block
    int64_t began_ns_ = 0;       // of the current block
    uint64_t in_block_ = 0;      // prints and texts in the current block
    std::deque<Block> blocks_;
    uint64_t bytes_ = 0; // of all blocks
    uint64_t events_ = 0, dropped_ = 0;
    // Of dropped blocks, by question. If there are many, they become the older ones, which are dropped next time.
    std::unordered_map<std::string, std::string> answers_, older_answers_;
    bool tell_again_ = false;
};

} // namespace sonde
