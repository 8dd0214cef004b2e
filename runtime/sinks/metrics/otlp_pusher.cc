// How the thread decides what to send, and what happens after a failure.
//
// One request is in flight at a time (in_flight_). turn() starts the next one: metrics first, then lines, then spans.
// All events lead to turn(): a new picture (on_told), the end of an interval (on_time), an answer (on_answer) and the
// end of a pause (retry_event_).
//
// A failed push of metrics has two successors: the same body again, or a newer picture. The choice depends on whether
// the collector may have accepted the push:
//
//     failure                         cumulative values        deltas
//     status 429, 502, 503, 504       newer picture            newer picture (the base is unchanged,
//                                                              so it includes the failed one)
//     no answer                       newer picture            the same body again, before all else
//     another status                  dropped                  dropped; the next delta includes it
//
// The row "no answer" is the reason for sent_body_. If the answer was lost, the collector may have added the deltas
// already. A new delta from the old base would add them again under another time interval. The same body has the same
// interval, so a collector can recognize it.
//
// Lines and spans stay in their queue until done(), so a failed push sends the same items again.
//
// The threads share exchange_, the queues, atomics, and the members that mutex_ protects. At the end, finish() gives
// the thread at most 1.8 seconds. It joins the thread before it counts what is left, so the counts need no lock.
#include "runtime/sinks/metrics/otlp_pusher.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "runtime/kernel/privileges.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000;
// Pauses before a failed push is repeated. The pause doubles after each failure.
constexpr int64_t first_pause_ns = second_ns, longest_pause_ns = 30 * second_ns;
constexpr int64_t pause_at_end_ns = second_ns / 4;
constexpr std::chrono::milliseconds most_at_end(1800), hurry_looked_at(20);
constexpr size_t longest_line = 64 << 10;

// Returns the default service name: the script's file name without `.stp`.
std::string service_of(const plan::Plan& plan) {
    std::filesystem::path script(plan.script);
    if (script.extension() == ".stp")
        script.replace_extension();
    const std::string out = script.filename().string();
    return out.empty() || out == "<input>" || out == "-" ? "sonde" : out;
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

timeval time_of(int64_t ns) { return {ns / second_ns, ns % second_ns / 1000}; }

} // namespace

OtlpPusher::OtlpPusher(const plan::Plan& plan, const OtlpRequest& request)
    : plan_(plan), request_(request), names_(name_metrics(plan)),
      resource_{host_name(), request.service.empty() ? service_of(plan) : request.service, getpid()} {}

Result<void> OtlpPusher::open() {
    const Error no_memory("no memory or no descriptors for a connection");
    base_ = event_base_new();
    if (!exchange_.valid() || !base_)
        return no_memory;
    Result<std::unique_ptr<HttpPoster>> poster = HttpPoster::open(base_, request_.target, request_.settings);
    if (!poster)
        return std::move(poster).error();
    poster_ = *std::move(poster);
    told_event_ = event_new(
        base_, exchange_.told_fd(), EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* pusher) { static_cast<OtlpPusher*>(pusher)->on_told(); }, this);
    time_event_ = event_new(
        base_, -1, EV_PERSIST,
        [](evutil_socket_t, short, void* pusher) { static_cast<OtlpPusher*>(pusher)->on_time(); }, this);
    retry_event_ = event_new(
        base_, -1, 0, [](evutil_socket_t, short, void* pusher) { static_cast<OtlpPusher*>(pusher)->turn(); }, this);
    const timeval interval = time_of(std::llround(request_.interval_s * 1e9));
    const bool is_ready = told_event_ && time_event_ && retry_event_ && event_add(told_event_, nullptr) == 0 &&
                          event_add(time_event_, &interval) == 0;
    return is_ready ? Result<void>() : no_memory;
}

Result<std::unique_ptr<OtlpPusher>> OtlpPusher::start(const plan::Plan& plan, const OtlpRequest& request) {
    std::unique_ptr<OtlpPusher> out(new OtlpPusher(plan, request));
    if (Result<void> opened = out->open(); !opened)
        return std::move(opened).error().in("--otlp");
    Result<std::thread> thread = start_quiet_thread("pushes", [pusher = out.get()] { pusher->run(); });
    if (!thread)
        return std::move(thread).error().in("--otlp");
    out->thread_ = *std::move(thread);
    return out;
}

OtlpPusher::~OtlpPusher() {
    leaving_ = true;
    if (thread_.joinable()) {
        exchange_.tell();
        thread_.join();
    }
    poster_.reset();
    for (event* one : {told_event_, time_event_, retry_event_})
        if (one)
            event_free(one);
    if (base_)
        event_base_free(base_);
}

OtlpNumbers OtlpPusher::numbers() const {
    OtlpNumbers out;
    std::ranges::copy(pushed_, out.pushed);
    std::ranges::copy(dropped_, out.dropped);
    out.retries = retries_;
    out.unseen_returns = unseen_returns_;
    return out;
}

template <typename Item> void OtlpPusher::keep(OtlpSignal signal, OtlpQueue<Item>& queue, Item item) {
    switch (queue.add(std::move(item))) {
    case OtlpQueue<Item>::Kept:
        return;
    case OtlpQueue<Item>::IsMuch:
        return exchange_.tell();
    case OtlpQueue<Item>::NoRoom:
        return note_dropped(signal, 1);
    }
}

void OtlpPusher::keep_line() {
    begun_line_.time_ns = real_time_ns();
    keep(OtlpLogs, lines_, std::exchange(begun_line_, {}));
}

void OtlpPusher::keep_span(OtlpSpan span) {
    unseen_returns_ += span.is_return_unseen;
    keep(OtlpTraces, spans_, std::move(span));
}

// Splits the output into lines. Very long lines are sent in parts, so that memory stays bounded.
void OtlpPusher::note_printed(std::string_view text, const OtlpSpanId& within) {
    if (!request_.wants(OtlpLogs))
        return;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        if (begun_line_.text.empty())
            begun_line_.within = within;
        begun_line_.text += text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (end != std::string_view::npos || begun_line_.text.size() >= longest_line)
            keep_line();
    }
}

std::string OtlpPusher::finish(const std::function<bool()>& hurry) {
    if (!begun_line_.text.empty())
        keep_line();
    ending_ = true;
    exchange_.tell();
    {
        const auto until = std::chrono::steady_clock::now() + most_at_end;
        std::unique_lock lock(mutex_);
        while (!is_done_ && std::chrono::steady_clock::now() < until && !hurry())
            done_changed_.wait_for(lock, hurry_looked_at);
    }
    leaving_ = true;
    exchange_.tell();
    thread_.join();
    // The thread has ended, so its members can be read here.
    note_dropped(OtlpMetrics, (sent_ ? 1 : 0) + (waiting_ ? 1 : 0) + (exchange_.take() ? 1 : 0));
    note_dropped(OtlpLogs, lines_.left());
    note_dropped(OtlpTraces, spans_.left());
    std::string out;
    for (size_t signal = 0; signal < otlp_signal_count; signal++)
        if (const uint64_t count = dropped_[signal])
            out += fmt::format("{}{} {}", out.empty() ? "" : " and ", count,
                               count == 1 ? otlp_signals[signal].one : otlp_signals[signal].several);
    if (out.empty())
        return advice_.empty()
                   ? ""
                   : fmt::format("--otlp: the collector at {} says: {}", request_.target.host_and_port(), advice_);
    return fmt::format("--otlp: the collector at {} did not accept {}{}", request_.target.host_and_port(), out,
                       problem_.empty() ? "" : "; the last problem: " + problem_);
}

// ---- the pusher's thread --------------------------------------------------------------------------------------------

void OtlpPusher::run() {
    keep_capabilities({});
    event_base_dispatch(base_);
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_changed_.notify_all();
}

// A new picture has arrived, or the session's thread has changed ending_ or leaving_.
void OtlpPusher::on_told() {
    if (const std::optional<MetricsPicture> picture = exchange_.take()) {
        note_dropped(OtlpMetrics, waiting_ ? 1 : 0);
        waiting_ = {make_families(plan_, names_, *picture, request_.series), picture->began_ns, picture->time_ns};
    }
    if (leaving_) {
        event_base_loopbreak(base_);
        return;
    }
    if (ending_ && pause_ns_ != 0)
        retry_at_ns_ = 0; // do not wait for the end of the pause: try once more at once
    turn();
}

// The end of an interval: request a picture, and send queued lines and spans even if they are few.
void OtlpPusher::on_time() {
    if (request_.wants(OtlpMetrics) && !ending_)
        exchange_.ask();
    lines_.note_due();
    spans_.note_due();
    turn();
}

// Encodes a picture. Deltas cover the time since the last accepted picture, or since the session's start.
std::string OtlpPusher::metrics_body(const Metrics& metrics) const {
    OtlpTimes times{metrics.began_ns, metrics.time_ns, request_.is_delta, request_.has_exponential};
    if (!request_.is_delta)
        return otlp_metrics(resource_, metrics.families, times);
    if (base_metrics_.time_ns())
        times.began_ns = base_metrics_.time_ns();
    return otlp_metrics(resource_, base_metrics_.since(metrics.families), times);
}

// Starts the next request, unless one is in flight, a pause is not over, or nothing is due.
void OtlpPusher::turn() {
    if (in_flight_ || now_ns() < retry_at_ns_)
        return;
    if (!sent_ && waiting_) {
        sent_ = std::exchange(waiting_, std::nullopt);
        sent_body_ = metrics_body(*sent_);
    }
    if (sent_)
        return send(OtlpMetrics, sent_body_);
    if (const std::vector<OtlpLine>& lines = lines_.take(ending_); !lines.empty())
        return send(OtlpLogs, otlp_logs(resource_, lines));
    if (const std::vector<OtlpSpan>& spans = spans_.take(ending_); !spans.empty())
        return send(OtlpTraces, otlp_traces(resource_, spans));
    if (ending_)
        event_base_loopbreak(base_);
}

void OtlpPusher::send(OtlpSignal signal, const std::string& body) {
    in_flight_ = signal;
    poster_->post(otlp_signals[signal].path, "application/x-protobuf", body,
                  [this, signal](const HttpAnswer& answer) { on_answer(signal, answer); });
}

// Handles the end of a request. Three results are possible: accepted (perhaps in part), a failure that may pass, and a
// final failure. In the last case the items are dropped, because repeating the request would not help.
void OtlpPusher::on_answer(OtlpSignal signal, const HttpAnswer& answer) {
    in_flight_.reset();
    if (!answer.problem.empty()) {
        const std::string why = otlp_refusal(answer.body);
        note_problem(why.empty() ? answer.problem : fmt::format("{}: {}", answer.problem, why));
        if (is_passing(answer))
            return retry(signal, answer);
        note_dropped(signal, signal == OtlpMetrics ? 1 : 0);
    } else {
        pushed_[signal]++;
        if (const OtlpRejection rejection = otlp_rejection(answer.body); rejection.count) {
            note_dropped(signal, signal == OtlpMetrics ? 1 : rejection.count);
            note_problem(fmt::format("it refused {} {}{}", rejection.count,
                                     signal == OtlpMetrics ? "points of a push" : otlp_signals[signal].several,
                                     rejection.why.empty() ? "" : ": " + rejection.why));
        } else if (!rejection.why.empty()) {
            const std::lock_guard lock(mutex_);
            advice_ = rejection.why;
        }
        pause_ns_ = retry_at_ns_ = 0;
        if (signal == OtlpMetrics && request_.is_delta)
            base_metrics_.take(std::move(sent_->families), sent_->time_ns);
    }
    const uint64_t count = signal == OtlpLogs ? lines_.done() : signal == OtlpTraces ? spans_.done() : 0;
    if (signal == OtlpMetrics)
        sent_.reset();
    else if (!answer.problem.empty())
        note_dropped(signal, count);
    turn();
}

// Decides what to send after a failure that may pass (see the table above), and starts the pause.
void OtlpPusher::retry(OtlpSignal signal, const HttpAnswer& answer) {
    const bool may_be_taken = request_.is_delta && answer.status == 0;
    if (signal == OtlpMetrics && !may_be_taken) {
        if (waiting_)
            note_dropped(OtlpMetrics, 1);
        else
            waiting_ = std::move(sent_);
        sent_.reset();
    }
    // At the end of the session, a collector that cannot be reached will not return in time.
    if (ending_ && answer.status == 0) {
        event_base_loopbreak(base_);
        return;
    }
    retries_++;
    pause_ns_ = pause_ns_ == 0 ? first_pause_ns : std::min(2 * pause_ns_, longest_pause_ns);
    const int64_t pause = ending_ ? pause_at_end_ns : std::max(pause_ns_, answer.retry_after_s * second_ns);
    retry_at_ns_ = now_ns() + pause;
    const timeval after = time_of(pause + 1'000'000); // the timer must not fire before retry_at_ns_
    event_add(retry_event_, &after);
}

void OtlpPusher::note_problem(std::string problem) {
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
}

} // namespace sonde
