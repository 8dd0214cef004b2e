#include "runtime/metrics/otlp_pusher.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/util.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "runtime/privileges.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000;
constexpr int answer_seconds = 10;                                               // without a byte of the collector
constexpr int64_t first_pause_ns = second_ns, longest_pause_ns = 30 * second_ns; // before it is tried again
constexpr int64_t pause_at_end_ns = second_ns / 4;
constexpr int64_t longest_asked_s = 300; // that a collector may ask for
constexpr std::chrono::milliseconds most_at_end(1800), hurry_looked_at(20);
constexpr size_t most_waiting_bytes = 8 << 20, push_at_bytes = 256 << 10, most_request_bytes = 1 << 20;
constexpr size_t longest_line = 64 << 10, bytes_beside = 64; // what a line costs beside its text
constexpr ssize_t most_answer_bytes = 64 << 10;

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

// Whether the same request may go well later (opentelemetry.io, "OTLP Specification", "Failures"). 0: no answer.
bool is_passing(int status) { return status == 0 || status == 429 || (status >= 502 && status <= 504); }

size_t cost_of(const OtlpLine& line) { return line.text.size() + bytes_beside; }

// Why there was no answer, as far as libevent still knows.
std::string why_no_answer(evhttp_connection* connection, int error) {
    if (bufferevent_socket_get_dns_error(evhttp_connection_get_bufferevent(connection)) != 0)
        return "its name is not known";
    // Where connecting has failed, libevent shuts a socket that has no connection, and the reason is lost.
    return error == ENOTCONN ? "it takes no connection" : "no answer";
}

} // namespace

OtlpPusher::OtlpPusher(const plan::Plan& plan, const OtlpRequest& request)
    : plan_(plan), request_(request), names_(name_metrics(plan)),
      resource_{host_name(), request.service.empty() ? service_of(plan) : request.service, getpid()} {}

bool OtlpPusher::open() {
    event_set_log_callback([](int, const char*) {}); // the last problem is told at the end
    evdns_set_log_fn([](int, const char*) {});
    base_ = event_base_new();
    names_base_ = base_ ? evdns_base_new(base_, 0) : nullptr;
    if (!names_base_)
        return false;
    // A machine without these files has only addresses.
    evdns_base_load_hosts(names_base_, "/etc/hosts");
    evdns_base_resolv_conf_parse(names_base_, DNS_OPTIONS_ALL, "/etc/resolv.conf");
    told_event_ = event_new(
        base_, exchange_.told_fd(), EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* pusher) { static_cast<OtlpPusher*>(pusher)->on_told(); }, this);
    time_event_ = event_new(
        base_, -1, EV_PERSIST,
        [](evutil_socket_t, short, void* pusher) { static_cast<OtlpPusher*>(pusher)->on_time(); }, this);
    retry_event_ = event_new(
        base_, -1, 0, [](evutil_socket_t, short, void* pusher) { static_cast<OtlpPusher*>(pusher)->turn(); }, this);
    const timeval interval = time_of(std::llround(request_.interval_s * 1e9));
    return told_event_ && time_event_ && retry_event_ && event_add(told_event_, nullptr) == 0 &&
           event_add(time_event_, &interval) == 0;
}

Result<std::unique_ptr<OtlpPusher>> OtlpPusher::start(const plan::Plan& plan, const OtlpRequest& request) {
    std::unique_ptr<OtlpPusher> out(new OtlpPusher(plan, request));
    if (!out->exchange_.valid() || !out->open())
        return Error("--otlp: no memory or no descriptors for a connection");
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
    if (connection_)
        evhttp_connection_free(connection_);
    for (event* one : {told_event_, time_event_, retry_event_})
        if (one)
            event_free(one);
    if (names_base_)
        evdns_base_free(names_base_, 0);
    if (base_)
        event_base_free(base_);
}

OtlpNumbers OtlpPusher::numbers() const {
    return {pushed_[Metrics], pushed_[Logs], dropped_[Metrics], dropped_[Logs], retries_};
}

void OtlpPusher::keep_line(std::string text) {
    OtlpLine line{real_time_ns(), std::move(text)};
    const size_t cost = cost_of(line);
    bool is_much = false;
    {
        const std::lock_guard lock(mutex_);
        if (line_bytes_ + cost > most_waiting_bytes) {
            dropped_[Logs]++;
            return;
        }
        is_much = line_bytes_ < push_at_bytes && line_bytes_ + cost >= push_at_bytes;
        line_bytes_ += cost;
        lines_.push_back(std::move(line));
    }
    if (is_much)
        exchange_.tell();
}

void OtlpPusher::note_printed(std::string_view text) {
    if (!request_.has_logs)
        return;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        begun_line_ += text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (end != std::string_view::npos || begun_line_.size() >= longest_line)
            keep_line(std::exchange(begun_line_, {}));
    }
}

std::string OtlpPusher::finish(const std::function<bool()>& hurry) {
    if (!begun_line_.empty())
        keep_line(std::exchange(begun_line_, {}));
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
    // What is left, now that nobody else has it.
    dropped_[Metrics] += (in_flight_ == Metrics) + waiting_metrics_.has_value() + exchange_.take().has_value();
    dropped_[Logs] += sent_lines_.size() + lines_.size();
    const OtlpNumbers all = numbers();
    std::string out;
    const auto add = [&](uint64_t count, const char* one, const char* several) {
        if (count)
            out += fmt::format("{}{} {}", out.empty() ? "" : " and ", count, count == 1 ? one : several);
    };
    add(all.dropped_metrics, "push of metrics", "pushes of metrics");
    add(all.dropped_logs, "line", "lines");
    if (out.empty())
        return "";
    return fmt::format("--otlp: the collector at {} did not get {}{}", request_.host_and_port(), out,
                       problem_.empty() ? "" : "; the last problem: " + problem_);
}

// ---- the thread -----------------------------------------------------------------------------------------------------

void OtlpPusher::run() {
    keep_capabilities({});
    event_base_dispatch(base_);
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_changed_.notify_all();
}

void OtlpPusher::on_told() {
    if (std::optional<MetricsPicture> picture = exchange_.take()) {
        const std::vector<MetricFamily> families = make_families(plan_, names_, *picture, request_.series);
        if (waiting_metrics_)
            dropped_[Metrics]++;
        waiting_metrics_ = otlp_metrics(resource_, families, picture->began_ns, picture->time_ns);
    }
    if (leaving_) {
        event_base_loopbreak(base_);
        return;
    }
    if (ending_ && pause_ns_ != 0)
        retry_at_ns_ = 0; // a collector that was away is tried once more, at once
    turn();
}

void OtlpPusher::on_time() {
    if (request_.has_metrics && !ending_)
        exchange_.ask();
    lines_are_due_ = true;
    turn();
}

// Begins the next request, if none is under way and there is something to send.
void OtlpPusher::turn() {
    if (in_flight_ || now_ns() < retry_at_ns_)
        return;
    if (waiting_metrics_) {
        sent_metrics_ = *std::exchange(waiting_metrics_, std::nullopt);
        send(Metrics, sent_metrics_);
    } else if (take_lines()) {
        send(Logs, otlp_logs(resource_, sent_lines_));
    } else if (ending_) {
        event_base_loopbreak(base_);
    }
}

// Whether there are lines that are to be sent now: those that were not taken last time, or new ones.
bool OtlpPusher::take_lines() {
    if (!sent_lines_.empty())
        return true;
    const std::lock_guard lock(mutex_);
    if (!lines_are_due_ && !ending_ && line_bytes_ < push_at_bytes)
        return false;
    for (size_t bytes = 0; !lines_.empty() && bytes < most_request_bytes; lines_.pop_front()) {
        bytes += cost_of(lines_.front());
        line_bytes_ -= cost_of(lines_.front());
        sent_lines_.push_back(std::move(lines_.front()));
    }
    lines_are_due_ = !lines_.empty();
    return !sent_lines_.empty();
}

void OtlpPusher::send(Signal signal, const std::string& body) {
    if (connection_)
        evhttp_connection_free(connection_);
    in_flight_ = signal;
    connection_ =
        evhttp_connection_base_bufferevent_new(base_, names_base_, nullptr, request_.host.c_str(), request_.port);
    evhttp_request* request = evhttp_request_new(
        [](evhttp_request* done, void* pusher) { static_cast<OtlpPusher*>(pusher)->on_answer(done); }, this);
    if (!connection_ || !request) {
        if (request)
            evhttp_request_free(request);
        return retry(0, 0);
    }
    evhttp_connection_set_timeout(connection_, answer_seconds);
    evhttp_connection_set_max_headers_size(connection_, most_answer_bytes);
    evhttp_connection_set_max_body_size(connection_, most_answer_bytes);
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Host", request_.host_and_port().c_str());
    evhttp_add_header(headers, "Content-Type", "application/x-protobuf");
    evhttp_add_header(headers, "User-Agent", "sonde");
    evhttp_add_header(headers, "Connection", "close");
    evbuffer_add(evhttp_request_get_output_buffer(request), body.data(), body.size());
    const std::string path = request_.path + (signal == Metrics ? "/v1/metrics" : "/v1/logs");
    // The request is the connection's from here on, also where this fails.
    if (evhttp_make_request(connection_, request, EVHTTP_REQ_POST, path.c_str()) != 0 && in_flight_)
        retry(0, 0);
}

// `request`: null, or without a status, if there was no answer.
void OtlpPusher::on_answer(evhttp_request* request) {
    const int error = errno;
    if (!in_flight_)
        return;
    const Signal signal = *in_flight_;
    const int status = request ? evhttp_request_get_response_code(request) : 0;
    if (status >= 200 && status < 300) {
        pushed_[signal]++;
        if (signal == Logs)
            sent_lines_.clear();
        in_flight_.reset();
        pause_ns_ = retry_at_ns_ = 0;
        return turn_soon();
    }
    const char* path = signal == Metrics ? "/v1/metrics" : "/v1/logs";
    note_problem(status == 0 ? why_no_answer(connection_, error)
                             : fmt::format("status {} of {}{}", status, request_.path, path));
    if (is_passing(status)) {
        const char* asked =
            request ? evhttp_find_header(evhttp_request_get_input_headers(request), "Retry-After") : nullptr;
        return retry(status, asked ? std::atoll(asked) : 0);
    }
    drop(signal);
    turn_soon();
}

// A connection cannot be freed by what it calls: the next request begins in the loop's next turn.
void OtlpPusher::turn_soon() {
    const timeval now{0, 0};
    event_add(retry_event_, &now);
}

void OtlpPusher::drop(Signal signal) {
    dropped_[signal] += signal == Metrics ? 1 : sent_lines_.size();
    if (signal == Logs)
        sent_lines_.clear();
    in_flight_.reset();
}

// What is in flight waits, unless there is something newer.
void OtlpPusher::retry(int status, int64_t asked_s) {
    if (in_flight_ == Metrics) {
        if (waiting_metrics_)
            dropped_[Metrics]++;
        else
            waiting_metrics_ = std::move(sent_metrics_);
    }
    in_flight_.reset();
    // Whoever is not there now will not be so soon.
    if (ending_ && status == 0) {
        event_base_loopbreak(base_);
        return;
    }
    retries_++;
    pause_ns_ = pause_ns_ == 0 ? first_pause_ns : std::min(2 * pause_ns_, longest_pause_ns);
    const int64_t pause =
        ending_ ? pause_at_end_ns : std::max(pause_ns_, std::clamp<int64_t>(asked_s, 0, longest_asked_s) * second_ns);
    retry_at_ns_ = now_ns() + pause;
    const timeval after = time_of(pause + 1'000'000); // not before that moment
    event_add(retry_event_, &after);
}

void OtlpPusher::note_problem(std::string problem) {
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
}

} // namespace sonde
