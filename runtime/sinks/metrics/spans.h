// --otlp-only=traces: turns calls into OpenTelemetry spans. It processes the records of hits (runtime/values/calls.h)
// as they arrive, in the session's thread.
//
// An outermost call of a thread starts a trace. The parent of any other call is the call around it. Named values that
// handlers print during a call become attributes of its span. The record of a return arrives before the text that its
// handler prints. So a finished call is kept until the thread's next event, or for a second.
//
// A call may end without a visible return: a longjmp() or an exception has skipped it, the thread has ended, or the
// session has. Its span then ends when an outer call returns, or at the thread's last event. An attribute marks such
// spans, and they are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/metrics/otlp.h"
#include "runtime/values/calls.h"

namespace sonde {

class CallSpans {
  public:
    // Receives finished spans.
    using Keep = std::function<void(OtlpSpan)>;
    // Fails if the plan has no calls, that is, no function with probes at both entry and return.
    static Result<std::unique_ptr<CallSpans>> start(const plan::Plan& plan, Keep keep);

    // Processes a Print record, either of a hit or of printed values.
    void add(const plan::RecordHeader& header, std::span<const uint8_t> payload);
    // Call it in each iteration of the session's loop. `offset_ns` is SessionWords::realtime_offset_ns, which the
    // records' times are based on. If the system clock was set since then, turn() computes the correction.
    void turn(int64_t now, int64_t offset_ns);
    // Ends all calls, at the session's end.
    void finish();
    // Returns the call that the current record belongs to, until leave_record().
    const OtlpSpanId& within() const { return within_; }
    void leave_record() { within_ = {}; }
    uint64_t left_out() const { return left_out_; } // calls beyond the limit of nesting

  private:
    // An open call.
    struct Call {
        uint32_t function = 0;
        OtlpSpan span;
    };
    // The open calls of a thread.
    struct Thread {
        int64_t pid = 0, tid = 0;
        int64_t last_ns = 0;    // time of its last event
        int64_t looked_ns = 0;  // now_ns() when the thread was last known to exist
        std::vector<Call> open; // the outermost first
        uint64_t too_deep = 0;  // calls beyond the limit of nesting that are still open
        // The call that has returned last. It may still get the values that its return handler prints.
        std::optional<Call> returned;
    };

    CallSpans(const plan::Plan& plan, Keep keep);
    // Starts and ends calls. end_unseen() ends all calls of a thread without their returns.
    void begin(Thread& thread, const HitTask& task, const HitRow& row);
    void end(Thread& thread, const HitRow& row);
    void end_unseen(Thread& thread);
    // Adds printed values to the call that they belong to.
    void note_values(Thread& thread, const HitRow& row, const plan::Format& format, std::span<const uint8_t> payload);
    // Passes a finished span on. give_returned() does so for the call that has waited for the values of its return.
    void give(OtlpSpan span);
    void give_returned(Thread& thread);
    uint64_t random();

    const plan::Plan& plan_;
    const std::vector<HitRow> rows_;
    const Keep keep_;
    std::map<ThreadKey, Thread> threads_;
    ProcessNames process_names_;
    uint64_t state_ = 0; // state of random()
    OtlpSpanId within_;  // of the current record
    int64_t correction_ns_ = 0, turned_ns_ = 0;
    uint64_t left_out_ = 0;
};

} // namespace sonde
