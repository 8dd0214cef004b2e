// The session's clock is that of the events. So timers run between them as they would have in the session:
//
//     event at 10.2 s, timer.s(1) is due at 11, 12, 13 s, event at 13.7 s
//
// All handlers of an event run in the order of the script.
#include "runtime/engine/replay_events.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/engine/timers.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

struct HandlerOfPoint {
    const plan::Probe* probe;
    uint32_t row;
};
using HandlersByPoint = std::unordered_map<std::string, std::vector<HandlerOfPoint>>; // by pp()

HandlersByPoint handlers_by_point(const plan::Plan& plan) {
    HandlersByPoint out;
    for (const plan::Probe& probe : plan.probes)
        if (plan::traits(probe.kind).cause == plan::Cause::Recorded)
            for (const plan::Point& point : probe.points)
                out[point.pp].push_back({&probe, point.row});
    return out;
}

bool is_stack(const std::string& name) { return name == plan::user_stack_value || name == plan::kernel_stack_value; }

// Runs all timers that are due before a time of the recording.
void run_timers(Session& session, Rings& rings, Timers& timers, int64_t until, const std::function<bool()>& turn) {
    for (int64_t next = timers.next(); next <= until && !session.exiting; next = timers.next()) {
        session.host.time_ns = next;
        run_points(session, rings, timers.take_due(next));
        if (turn())
            session.exiting = session.interrupted = true;
    }
}

} // namespace

void adopt_recording(Session& session, RecordedEvents& events) {
    SessionData& data = session.data;
    data.kept_symbols = events.take_symbols();
    data.began_ns = session.host.time_ns = events.began_ns();
    data.now = data.real_time = [&session] { return session.host.time_ns; };
    data.kernel_time = [&session, boot = events.boot_ns()] { return session.host.time_ns - boot; };
    session.host.note_stack = [&events](const std::string& stack, uint64_t process) {
        events.note_stack(stack, process);
    };
}

void replay_events(Session& session, Rings& rings, RecordedEvents& events, const std::function<bool()>& turn) {
    constexpr int64_t between_turns_ns = 10'000'000;
    constexpr int clock_every = 64; // events between two readings of the clock
    const HandlersByPoint handlers = handlers_by_point(session.plan);
    // A point's handlers, so that the text is looked up once.
    std::unordered_map<const plan::RecordedPoint*, const std::vector<HandlerOfPoint>*> known;
    const auto handlers_of = [&](const plan::RecordedPoint* point) {
        const auto [entry, is_new] = known.try_emplace(point, nullptr);
        if (is_new)
            if (const auto found = handlers.find(point->pp); found != handlers.end())
                entry->second = &found->second;
        return entry->second;
    };
    Timers timers(session.plan);
    timers.start(session.host.time_ns);
    int64_t turned_ns = now_ns();
    int until_clock = clock_every;
    const auto take_turn = [&] {
        if (--until_clock > 0)
            return false;
        until_clock = clock_every;
        if (now_ns() - turned_ns < between_turns_ns)
            return false;
        turned_ns = now_ns();
        return turn();
    };
    HostRun& host = session.host;
    while (!session.exiting) {
        const RecordedEvent* event = events.next();
        if (!event)
            break;
        run_timers(session, rings, timers, event->time_ns, take_turn);
        host.time_ns = event->time_ns; // can be before the last one: the output of one run is one piece
        if (const std::vector<HandlerOfPoint>* all = handlers_of(event->point)) {
            for (const HandlerOfPoint& one : *all) {
                if (session.exiting)
                    break;
                host.event = event;
                host.row = one.row;
                host.hits[one.probe]++;
                run_handler(session, rings, *one.probe);
                host.event = nullptr;
            }
        }
        if (take_turn())
            session.exiting = session.interrupted = true;
    }
    if (!session.exiting) {
        run_timers(session, rings, timers, events.last_ns(), take_turn);
        host.time_ns = std::max(host.time_ns, events.last_ns());
    }
    session.exiting = true;
}

void say_lacking(const Session& session) {
    for (const auto& [what, events] : session.host.lacking) {
        const auto hits = session.host.hits.find(what.first);
        warn(fmt::format("the handler at {} did not run for {} of {} events, which do not have {}", what.first->place,
                         events, hits == session.host.hits.end() ? events : hits->second,
                         is_stack(what.second) ? what.second : fmt::format("`{}`", what.second)),
             Weight::Answer);
    }
}

} // namespace sonde
