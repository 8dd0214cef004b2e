// A sink consumes the events of a session: it prints records, draws pictures or serves metrics. The engine knows sinks
// only by this interface. The driver creates them from the options (driver/sinks.h), in the order in which they receive
// records.
//
// A session calls the functions in this order:
//
// 1. open()
// 2. turn() and the record functions, while begin handlers run
// 3. start(), when every probe is armed
// 4. turn(), the record functions and serve(), while the session runs
// 5. stop(), then detached()
// 6. the record functions, while end handlers run
// 7. finish(), then close()
//
// If open() fails, the session calls no other function. All functions run in the session's thread, so a slow one delays
// the processing of records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/text/accounting.h"

namespace sonde {

class Output;
struct SessionData;

// Text that does not come from a record with a format.
enum class SinkText : uint8_t {
    Printed,  // output of speculate()
    Warning,  // also printed to standard error
    Error,    // also printed to standard error
    HitTimes, // the report of -t, at the end
};

// The result of a session.
struct SessionEnd {
    const Accounting& accounting;
    int status = 0;                   // exit status of the process
    uint64_t errors = 0, skipped = 0; // from SessionWords
    std::function<bool()> hurry;      // true: the user does not want to wait any longer
};

class Sink {
  public:
    virtual ~Sink() = default;

    // The output is open, but nothing is loaded yet. An error ends the session, for example a file that cannot be
    // written or a global that does not exist.
    virtual Result<void> open() { return {}; }
    // Every probe is armed.
    virtual void start() {}

    // A Print record, either of a hit (Format::is_hit) or of printed values.
    virtual void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
        static_cast<void>(header), static_cast<void>(payload);
    }
    // All sinks have received the record.
    virtual void after_record() {}
    virtual void text(SinkText kind, std::string_view text) { static_cast<void>(kind), static_cast<void>(text); }

    // A trigger of the flight recorder, such as dump() of the script. `time`: when, on the clock of records
    // (SessionData::record_time). Returns false if the sink keeps nothing that it could write.
    virtual bool dump(std::string_view why, int64_t time) {
        static_cast<void>(why), static_cast<void>(time);
        return false;
    }

    // Returns the nanoseconds from `now` (now_ns()) until turn() has work to do.
    virtual int64_t until_turn(int64_t now) const {
        static_cast<void>(now);
        return INT64_MAX;
    }
    // Called in each iteration of the session's loop. `handlers_follow`: host handlers run next and may delete or reset
    // globals. Returns true to end the session.
    virtual bool turn(int64_t now, bool handlers_follow) {
        static_cast<void>(now), static_cast<void>(handlers_follow);
        return false;
    }
    // A descriptor for poll(), or -1. The session calls serve() when it is readable.
    virtual int fd() const { return -1; }
    virtual void serve() {}

    // The session is ending. Probes are still attached.
    virtual void stop() {}
    // Kernel handlers have stopped. End handlers run next and may delete globals.
    virtual void detached() {}
    // End handlers have run. The last chance to write to the output. An error makes the exit status 1.
    virtual Result<void> finish(const std::function<bool()>& hurry) {
        static_cast<void>(hurry);
        return {};
    }
    // All losses are counted. Called in reverse order of the sinks. An error makes the exit status 1.
    virtual Result<void> close(const SessionEnd& end) {
        static_cast<void>(end);
        return {};
    }
};

using Sinks = std::vector<std::unique_ptr<Sink>>;
inline Sinks one_sink(std::unique_ptr<Sink> sink) {
    Sinks out;
    out.push_back(std::move(sink));
    return out;
}

// Creates the sinks of a session. `data` and `output` outlive them. The output is opened after all sinks are created.
// An error ends the session.
using SinkMaker = std::function<Result<Sinks>(SessionData& data, Output& output)>;

} // namespace sonde
