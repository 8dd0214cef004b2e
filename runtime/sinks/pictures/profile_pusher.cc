#include "runtime/sinks/pictures/profile_pusher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "runtime/kernel/privileges.h"
#include "runtime/sinks/http/patient_post.h"
#include "runtime/sinks/pictures/pprof.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000, patience_at_end_ns = 30 * second_ns;
constexpr const char* profile_type = "application/octet-stream";

// A statistic's payload begins with count and sum (plan::StatsBlock). The payload of a number is the number.
size_t number_count(const plan::Global& global) { return global.type == plan::Value::Stats ? 2 : 1; }

} // namespace

// An element whose count (or number) has decreased was reset, so it is compared with 0.
std::vector<ArrayElement> elements_since(const plan::Global& global, const std::map<std::string, std::string>& before,
                                         const std::vector<ArrayElement>& elements) {
    std::vector<ArrayElement> out;
    for (const ArrayElement& element : elements) {
        ArrayElement one = element;
        int64_t now[2] = {}, then[2] = {};
        const size_t bytes = number_count(global) * sizeof now[0];
        std::memcpy(now, element.payload.data(), bytes);
        if (const auto known = before.find(element.key); known != before.end())
            std::memcpy(then, known->second.data(), bytes);
        if (now[0] < then[0])
            then[0] = then[1] = 0;
        if (std::memcmp(now, then, sizeof now) == 0)
            continue;
        for (size_t i = 0; i < number_count(global); i++)
            now[i] = static_cast<int64_t>(static_cast<uint64_t>(now[i]) - static_cast<uint64_t>(then[i]));
        std::memcpy(one.payload.data(), now, bytes);
        out.push_back(std::move(one));
    }
    return out;
}

ProfilePusher::ProfilePusher(const plan::Plan& plan, size_t global, const HttpTarget& target,
                             const HttpSettings& settings, int64_t interval_ns)
    : plan_(plan), global_(global), target_(target), settings_(settings), interval_ns_(interval_ns),
      taken_{{}, real_time_ns()}, next_ns_(now_ns() + interval_ns) {}

Result<std::unique_ptr<ProfilePusher>> ProfilePusher::start(const plan::Plan& plan, size_t global,
                                                            const HttpTarget& target, const HttpSettings& settings,
                                                            int64_t interval_ns) {
    std::unique_ptr<ProfilePusher> out(new ProfilePusher(plan, global, target, settings, interval_ns));
    Result<std::thread> thread = start_quiet_thread("pushes profiles", [pusher = out.get()] { pusher->run(); });
    if (!thread)
        return std::move(thread).error().in("--pprof");
    out->thread_ = *std::move(thread);
    return out;
}

ProfilePusher::~ProfilePusher() {
    leaving_ = true;
    changed_.notify_all();
    if (thread_.joinable())
        thread_.join();
}

// ---- the pushing thread ---------------------------------------------------------------------------------------------

void ProfilePusher::run() {
    keep_capabilities({});
    std::unique_lock lock(mutex_);
    for (;;) {
        // Use a timeout: the destructor sets leaving_ without holding the lock, so a notification may be missed.
        while (!body_ && !leaving_)
            changed_.wait_for(lock, std::chrono::milliseconds(100));
        if (leaving_)
            return;
        const std::string body = *std::exchange(body_, std::nullopt);
        const HttpTarget target = body_target_;
        lock.unlock();
        Result<void> answer = post_patiently(target, settings_, profile_type, body, std::max(interval_ns_, second_ns),
                                             [this] { return leaving_.load(); });
        lock.lock();
        answer_ = std::move(answer);
        changed_.notify_all();
    }
}

// ---- the session's thread -------------------------------------------------------------------------------------------

bool ProfilePusher::is_busy() {
    const std::lock_guard lock(mutex_);
    return posted_ && !answer_;
}

// Handles the answer of the last push. If it was accepted, its state becomes the new base.
void ProfilePusher::note_answer() {
    std::optional<Result<void>> answer;
    {
        const std::lock_guard lock(mutex_);
        answer = std::exchange(answer_, std::nullopt);
    }
    if (!answer || !posted_)
        return;
    if (*answer)
        taken_ = *std::move(posted_);
    else if (!std::exchange(is_told_, true))
        warn(fmt::format("--pprof: {} did not accept a profile: {}; sonde adds its samples to the next one",
                         target_.host_and_port(), answer->error().message));
    posted_.reset();
}

int64_t ProfilePusher::until_push(int64_t now) const { return std::max<int64_t>(0, next_ns_ - now); }

Result<std::string> ProfilePusher::profile_since(Symbolizer& symbols, const ProcessNumbers& numbers,
                                                 const std::vector<ArrayElement>& elements, int64_t until_ns) const {
    return pprof_profile(plan_, symbols, numbers, plan_.globals[global_], elements, taken_.until_ns,
                         until_ns - taken_.until_ns);
}

// Receivers that expect the interval in the query, such as Pyroscope's /ingest, want seconds since 1970.
HttpTarget ProfilePusher::target_until(int64_t until_ns) const {
    HttpTarget out = target_;
    if (!out.query.empty())
        out.query += fmt::format("&from={}&until={}", taken_.until_ns / second_ns, until_ns / second_ns);
    return out;
}

// Does nothing while a push is in progress. The next call then pushes everything since taken_.
void ProfilePusher::push(Symbolizer& symbols, const ProcessNumbers& numbers, std::vector<ArrayElement> elements,
                         int64_t now) {
    next_ns_ = now + interval_ns_;
    if (is_busy())
        return;
    note_answer();
    const std::vector<ArrayElement> news = elements_since(plan_.globals[global_], taken_.values, elements);
    if (news.empty())
        return;
    const int64_t until_ns = real_time_ns();
    Result<std::string> profile = profile_since(symbols, numbers, news, until_ns);
    if (!profile)
        return; // finish() reports the error
    posted_ = Taken{{}, until_ns};
    for (ArrayElement& element : elements)
        posted_->values.emplace(std::move(element.key), std::move(element.payload));
    const std::lock_guard lock(mutex_);
    body_ = *std::move(profile);
    body_target_ = target_until(until_ns);
    changed_.notify_all();
}

// Waits for a push in progress, ends the thread, and pushes the rest in this thread.
Result<void> ProfilePusher::finish(Symbolizer& symbols, const ProcessNumbers& numbers,
                                   const std::vector<ArrayElement>& elements, const std::function<bool()>& hurry) {
    const int64_t end = now_ns() + patience_at_end_ns;
    while (is_busy() && now_ns() < end && !hurry()) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(20));
    }
    leaving_ = true;
    changed_.notify_all();
    thread_.join();
    note_answer();
    const std::vector<ArrayElement> news = elements_since(plan_.globals[global_], taken_.values, elements);
    if (news.empty())
        return {};
    const int64_t until_ns = real_time_ns();
    Result<std::string> profile = profile_since(symbols, numbers, news, until_ns);
    if (!profile)
        return std::move(profile).error();
    const Result<void> pushed =
        post_patiently(target_until(until_ns), settings_, profile_type, *profile, patience_at_end_ns, hurry);
    return pushed ? Result<void>()
                  : Error(fmt::format("--pprof: {} did not accept the last profile: {}", target_.host_and_port(),
                                      pushed.error().message));
}

} // namespace sonde
