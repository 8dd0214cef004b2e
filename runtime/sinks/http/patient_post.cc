#include "runtime/sinks/http/patient_post.h"

#include <event2/event.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/clock.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000;
// How often hurry() is called.
constexpr timeval hurry_looked_at{0, 20'000};

} // namespace

// Runs its own event loop. A timer wakes it often enough to notice `hurry()`. The poster reports a silent server as an
// answer with a problem, after some seconds. So no answer at all means that the time is over, or that the user is in a
// hurry.
Result<void> post_patiently(const HttpTarget& target, const HttpSettings& settings, const char* type,
                            const std::string& body, int64_t patience_ns, const std::function<bool()>& hurry) {
    const int64_t until = now_ns() + patience_ns;
    const std::unique_ptr<event_base, decltype(&event_base_free)> base(event_base_new(), event_base_free);
    const std::unique_ptr<event, decltype(&event_free)> tick(
        base ? event_new(
                   base.get(), -1, EV_PERSIST, [](evutil_socket_t, short, void*) {}, nullptr)
             : nullptr,
        event_free);
    if (!tick || event_add(tick.get(), &hurry_looked_at) != 0)
        return Error("no memory for a connection");
    Result<std::unique_ptr<HttpPoster>> poster = HttpPoster::open(base.get(), target, settings);
    if (!poster)
        return std::move(poster).error();
    std::string problem = "no answer";
    for (int64_t pause = second_ns, next = 0;; pause *= 2) {
        std::optional<HttpAnswer> answer;
        (*poster)->post("", type, body, [&](const HttpAnswer& one) { answer = one; });
        while (!answer && now_ns() < until && !hurry())
            event_base_loop(base.get(), EVLOOP_ONCE);
        if (answer && answer->problem.empty())
            return {};
        if (answer)
            problem = answer->problem;
        next = now_ns() + std::max(pause, answer ? answer->retry_after_s * second_ns : 0);
        if (!answer || !is_passing(*answer) || next > until)
            return Error(problem);
        while (now_ns() < next && !hurry())
            event_base_loop(base.get(), EVLOOP_ONCE);
        if (hurry())
            return Error(problem);
    }
}

} // namespace sonde
