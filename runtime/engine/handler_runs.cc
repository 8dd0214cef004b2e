// Runs the handlers that the session itself starts.
//
// Before a handler runs, all records that handlers in the kernel have sent are processed (Rings::drain()), and again
// afterwards. So the output has the order in which things happened.
//
// A handler may run in the kernel although the session starts it, with --host-probes=kernel. Then the session executes
// the BPF program by BPF_PROG_TEST_RUN.
#include "runtime/engine/handler_runs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/plan/kinds.h"
#include "runtime/text/messages.h"

namespace sonde {

void run_handler(Session& session, Rings& rings, const plan::Probe& probe) {
    if (session.removed.contains(&probe))
        return;
    rings.drain();
    // The session can interrupt these handlers, so their limit on statements is higher than that of handlers for hits.
    session.data.words->max_action = session.plan.translate.max_action_interruptible();
    const int64_t began = now_ns();
    if (probe.in_kernel) {
        if (Result<uint32_t> run = session.data.kernel->run(probe.symbol, {}); !run) {
            say(fmt::format("ERROR: the handler at {} cannot run: {}", probe.place, run.error().message));
            session.failed = session.exiting = true;
        }
    } else {
        session.run_host_handler(probe);
    }
    session.data.hit_report.ran(probe, static_cast<uint64_t>(now_ns() - began));
    session.data.words->max_action = session.plan.translate.max_action();
    rings.drain();
}

namespace {

template <typename Wanted> std::vector<const plan::Probe*> in_order(const plan::Plan& plan, Wanted wanted) {
    std::vector<const plan::Probe*> probes;
    for (const plan::Probe& probe : plan.probes)
        // Each point of a probe is a separate run, as in `probe begin, begin`.
        for (size_t i = 0; wanted(probe.kind) && i < std::max<size_t>(1, probe.points.size()); i++)
            probes.push_back(&probe);
    std::stable_sort(probes.begin(), probes.end(),
                     [](const plan::Probe* a, const plan::Probe* b) { return a->order < b->order; });
    return probes;
}

// True if two probes are handlers of the same point without conditions. Such handlers do not stop each other: if one
// fails or calls exit(), the others still run.
bool is_same_point(const plan::Probe& a, const plan::Probe& b) {
    const auto point = [](const plan::Probe& probe) { return probe.points.empty() ? "" : probe.points[0].pp; };
    return a.kind == b.kind && a.order == b.order && !a.has_condition && !b.has_condition && point(a) == point(b);
}

// Runs all handlers of the point at `at`. If one fails, the session ends after the last one. Returns the index of the
// next point.
size_t run_point(Session& session, Rings& rings, const std::vector<const plan::Probe*>& probes, size_t at) {
    const size_t first = at;
    session.errors.hold();
    do
        run_handler(session, rings, *probes[at++]);
    while (at < probes.size() && !session.translate.unoptimized && is_same_point(*probes[first], *probes[at]) &&
           !session.data.aborted);
    session.errors.release();
    return at;
}

} // namespace

void run_points(Session& session, Rings& rings, const std::vector<const plan::Probe*>& probes) {
    for (size_t at = 0; at < probes.size() && !session.exiting;) {
        session.turn_sinks(session.data.now(), true);
        at = run_point(session, rings, probes, at);
    }
}

void make_up(Session& session, Rings& rings, Timers& timers, int64_t end) {
    constexpr int64_t most_ns = 200'000'000, most_of_few_ns = 1'000'000'000;
    const int64_t began = now_ns();
    session.interrupter->set_deadline(began + most_of_few_ns);
    for (int round = 0; !session.exiting; round++) {
        const int64_t took = now_ns() - began;
        if (took >= most_of_few_ns || (took >= most_ns && round >= Timers::few_runs))
            return;
        const std::vector<const plan::Probe*> due = timers.take_due(end);
        if (due.empty())
            return;
        run_points(session, rings, due);
    }
}

void run_begin_probes(Session& session, Rings& rings) {
    run_points(session, rings, in_order(session.plan, [](plan::ProbeKind kind) {
                   return plan::traits(kind).cause == plan::Cause::Start;
               }));
}

void run_end_probes(Session& session, Rings& rings) {
    const std::vector<const plan::Probe*> probes = in_order(session.plan, [](plan::ProbeKind kind) {
        plan::Cause cause = plan::traits(kind).cause;
        return cause == plan::Cause::End || cause == plan::Cause::Failure;
    });
    for (size_t at = 0; at < probes.size() && !session.data.aborted;) {
        if ((plan::traits(probes[at]->kind).cause == plan::Cause::Failure) == session.failed)
            at = run_point(session, rings, probes, at);
        else
            at++;
    }
}

} // namespace sonde
