// A sink consumes a session's events: it prints records, draws pictures, serves metrics. The engine knows sinks only by
// this interface. The driver creates them (driver/sinks.h) from the options, in the order in which they see records.
//
// A session calls, in this order: open(), then turn() and the record functions while begin handlers run, start() when
// every probe is armed, turn(), record() and serve() while the session runs, stop(), detached(), the record functions
// for the end handlers, finish(), and close(). After an error of open() nothing else is called.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/text/accounting.h"

namespace sonde {

class Output;
struct SessionData;

// Text that is not a record of a format.
enum class SinkText : uint8_t {
    Printed,  // by the script, without a format (speculate())
    Warning,  // standard error has it, too
    Error,    // standard error has it, too
    HitTimes, // -t, at the end
};

// How a session ended.
struct SessionEnd {
    const Accounting& accounting;
    int status = 0;                   // the exit status
    uint64_t errors = 0, skipped = 0; // SessionWords
    std::function<bool()> hurry;      // the user does not want to wait any longer
};

class Sink {
  public:
    virtual ~Sink() = default;

    // The output is open. Nothing is loaded yet. Errors end the session: a file that cannot be written, a global that
    // does not exist.
    virtual Result<void> open() { return {}; }
    // Every probe is armed.
    virtual void start() {}

    // A Print record: of a hit (Format::is_hit), or of printed values.
    virtual void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) {
        static_cast<void>(header), static_cast<void>(payload);
    }
    // All sinks have had the record.
    virtual void after_record() {}
    virtual void text(SinkText kind, std::string_view text) { static_cast<void>(kind), static_cast<void>(text); }

    // Nanoseconds from `now` (now_ns()) until turn() has work to do.
    virtual int64_t until_turn(int64_t now) const {
        static_cast<void>(now);
        return INT64_MAX;
    }
    // Called in each turn of the session's loop. `handlers_follow`: handlers of this process run next, which may delete
    // or reset globals. Returns whether the session is to end.
    virtual bool turn(int64_t now, bool handlers_follow) {
        static_cast<void>(now), static_cast<void>(handlers_follow);
        return false;
    }
    // A descriptor that poll() watches; -1: none. serve() is called when it is readable.
    virtual int fd() const { return -1; }
    virtual void serve() {}

    // The session ends. Probes are still attached.
    virtual void stop() {}
    // No kernel handler runs any more. The end's handlers run next, and may delete globals.
    virtual void detached() {}
    // The end's handlers have run. Whatever goes to the output is written here. Errors make the exit status 1.
    virtual Result<void> finish(const std::function<bool()>& hurry) {
        static_cast<void>(hurry);
        return {};
    }
    // The losses have been counted. Called for the last sink first. Errors make the exit status 1.
    virtual Result<void> close(const SessionEnd& end) {
        static_cast<void>(end);
        return {};
    }
};

using Sinks = std::vector<std::unique_ptr<Sink>>;

// Creates a session's sinks. `data` and `output` outlive them; `output` is opened after all sinks are created. Errors
// end the session.
using SinkMaker = std::function<Result<Sinks>(SessionData& data, Output& output)>;

} // namespace sonde
