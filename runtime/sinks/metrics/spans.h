// --otlp-only=traces: calls as spans of OpenTelemetry, made of the records of hits (runtime/values/calls.h) as they
// come, in the session's thread.
//
// An outermost call of a thread begins a trace, and each call's parent is the one that it is within. What handlers
// print at a call's entry or return, or in between, becomes attributes: values that have names in the script. So a call
// that has returned waits for what its return prints, until the thread is seen again or a second has passed.
//
// A call that is not seen to return ends with the one around it (a longjmp() or an exception passed it), with its
// thread, or with the session, at the time when the thread was last seen. That is told in an attribute, and counted.
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
    using Keep = std::function<void(OtlpSpan)>;
    // Errors: the plan has no calls: no function is probed at its entry and at its return.
    static Result<std::unique_ptr<CallSpans>> start(const plan::Plan& plan, Keep keep);

    // A Print record: of a hit, or of what was printed.
    void add(const plan::RecordHeader& header, std::span<const uint8_t> payload);
    // Each turn of the session. `offset_ns`: SessionWords::realtime_offset_ns, by which times were made; the clock may
    // have been set since.
    void turn(int64_t now, int64_t offset_ns);
    // The session ends: so do all calls.
    void finish();
    // The call whose handler the record comes from that was added, until that is left.
    const OtlpSpanId& within() const { return within_; }
    void leave_record() { within_ = {}; }
    uint64_t left_out() const { return left_out_; } // calls that are too deep in others

  private:
    struct Call {
        uint32_t function = 0;
        OtlpSpan span;
    };
    struct Thread {
        int64_t pid = 0, tid = 0;
        int64_t last_ns = 0;    // time of its last event
        int64_t looked_ns = 0;  // now_ns() when it was last known to be there
        std::vector<Call> open; // the outermost first
        uint64_t too_deep = 0;  // calls further inside, which are not followed
        std::optional<Call> returned;
    };

    CallSpans(const plan::Plan& plan, Keep keep);
    void begin(Thread& thread, const HitTask& task, const HitRow& row);
    void end(Thread& thread, const HitRow& row);
    void end_unseen(Thread& thread);
    void note_values(Thread& thread, const HitRow& row, const plan::Format& format, std::span<const uint8_t> payload);
    void give(OtlpSpan span);
    void give_returned(Thread& thread);
    uint64_t random();

    const plan::Plan& plan_;
    const std::vector<HitRow> rows_;
    const Keep keep_;
    std::map<ThreadKey, Thread> threads_;
    ProcessNames process_names_;
    uint64_t state_ = 0; // of random()
    OtlpSpanId within_;  // of the last record
    int64_t correction_ns_ = 0, turned_ns_ = 0;
    uint64_t left_out_ = 0;
};

} // namespace sonde
