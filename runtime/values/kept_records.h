// Records that stay in the kernel until the flight recorder writes a recording: what sinks see of
// runtime/engine/flight_rings.h. All times are those of records (SessionData::record_time).
#pragma once

#include <cstdint>
#include <functional>

namespace sonde {

class KeptRecords {
  public:
    // Numbers of records. A record is the output of one run of a handler.
    struct Counts {
        uint64_t kept = 0;        // that a dump has, or would have
        uint64_t overwritten = 0; // written since the last dump, and gone
        uint64_t late = 0;        // processors whose last records were overwritten before they were copied
        uint64_t damaged = 0;     // written since the last dump, but overwritten in part
        uint64_t unplaced = 0;    // of processors that were off when the session began
        int64_t since = 0;        // the time of the oldest kept one; 0: none
    };
    virtual ~KeptRecords() = default;

    // Copies the records after the last dump, with times in [since, until]. Handlers go on meanwhile.
    virtual Counts read(int64_t since, int64_t until) = 0;
    // Passes the copied records to the session's sinks, in the order of their times, and forgets the copy. Calls
    // `before` with each record's time first.
    virtual void pass(const std::function<void(int64_t time)>& before) = 0;
    // Makes the last read() the last dump. Without it, the next read() finds the same records again, if they are not
    // overwritten by then.
    virtual void settle() = 0;
    // Call it at least once in a minute: the counters in the kernel have 32 bits.
    virtual void watch() = 0;
    // The memory of all rings in bytes, and the number of rings.
    virtual uint64_t bytes() const = 0;
    virtual uint64_t rings() const = 0;
};

} // namespace sonde
