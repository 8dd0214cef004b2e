// The flight recorder: the last events of a session, in memory. Nothing is written until something happens.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "runtime/sinks/recording/recording_file.h"

namespace sonde {

// How much to keep. Older events are dropped.
struct FlightLimit {
    static constexpr uint64_t default_bytes = 64 << 20;
    bool is_wanted = false;
    uint64_t bytes = default_bytes; // compressed
    int64_t ns = INT64_MAX;
};

class FlightRing {
  public:
    explicit FlightRing(const FlightLimit& limit) : limit_(limit) {}

    // Adds an event to the current block. Returns true if the block is full.
    bool add(Event kind, std::string_view bytes);
    // Ends the current block, and drops blocks beyond the limit. `now`: now_ns(). Returns false without memory; then
    // the block is dropped.
    bool end_block(int64_t now);
    // Writes the answers of dropped blocks, then all blocks.
    void write(RecordingWriter& file) const;
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
    };
    void drop_oldest();
    const FlightLimit limit_;
    RecordingBlock block_;
    int64_t began_ns_ = 0;  // of the current block
    uint64_t in_block_ = 0; // prints and texts in the current block
    std::deque<Block> blocks_;
    uint64_t bytes_ = 0; // of all blocks
    uint64_t events_ = 0, dropped_ = 0;
    // Of dropped blocks, by question. If there are many, they become the older ones, which are dropped next time.
    std::unordered_map<std::string, std::string> answers_, older_answers_;
    bool tell_again_ = false;
};

} // namespace sonde
