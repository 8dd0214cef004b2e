// --otlp: pushes the session's metrics, and what it prints, to a collector that speaks OTLP over HTTP.
//
// A thread of its own does all of it: names, messages, connections, waiting. The session's thread gives it a picture
// when it asks for one, and copies what is printed. What waits is bounded: of the metrics only the newest picture, of
// the lines some megabytes. So a collector that is slow or away costs the session nothing but what it does not get,
// which is counted. HTTP is libevent's, as the server's; names are looked up by it too, since getaddrinfo() cannot be
// told to end.
//
// A connection is there for one request: the collector may close one that is kept at any time, and the last push of a
// session has no time for a second try.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/metrics/families.h"
#include "runtime/metrics/otlp.h"
#include "runtime/metrics/otlp_numbers.h"
#include "runtime/metrics/otlp_request.h"
#include "runtime/metrics/picture_exchange.h"

struct event_base;
struct event;
struct evdns_base;
struct evhttp_connection;
struct evhttp_request;

namespace sonde {

class OtlpPusher {
  public:
    // Errors: no memory, no descriptors. That the collector is away is none.
    static Result<std::unique_ptr<OtlpPusher>> start(const plan::Plan& plan, const OtlpRequest& request);
    ~OtlpPusher(); // what waits is dropped
    OtlpPusher(const OtlpPusher&) = delete;
    OtlpPusher& operator=(const OtlpPusher&) = delete;

    // In the session's thread.
    int fd() const { return exchange_.wanted_fd(); } // readable when a picture is wanted
    void serve(Session& session) { exchange_.serve(session); }
    void note_printed(std::string_view text); // pieces of lines, in their order
    OtlpNumbers numbers() const;
    // The last push: of the picture that was served last, and of all lines. Waits 2 seconds at most, and not if
    // `hurry`. Gives what was dropped during the session, in words; empty: nothing was.
    std::string finish(const std::function<bool()>& hurry);

  private:
    enum Signal { Metrics, Logs };
    OtlpPusher(const plan::Plan& plan, const OtlpRequest& request);
    bool open();
    void keep_line(std::string text);
    void run();
    void on_told();
    void on_time();
    void turn();
    void turn_soon();
    bool take_lines();
    void send(Signal signal, const std::string& body);
    void on_answer(evhttp_request* request);
    void retry(int status, int64_t asked_s);
    void drop(Signal signal);
    void note_problem(std::string problem);

    const plan::Plan& plan_;
    const OtlpRequest request_;
    const MetricNames names_;
    OtlpResource resource_;
    PictureExchange exchange_;
    event_base* base_ = nullptr;
    evdns_base* names_base_ = nullptr;
    event* told_event_ = nullptr;
    event* time_event_ = nullptr;  // every interval
    event* retry_event_ = nullptr; // when a collector that was away is tried again
    std::atomic<bool> ending_ = false, leaving_ = false;
    std::atomic<uint64_t> pushed_[2] = {}, dropped_[2] = {}, retries_ = 0;

    std::mutex mutex_; // of what follows
    std::condition_variable done_changed_;
    bool is_done_ = false;
    std::deque<OtlpLine> lines_;
    size_t line_bytes_ = 0; // of lines_
    std::string problem_;   // the last one

    std::string begun_line_; // the session's own thread's: printed without an end so far

    // The thread's own.
    evhttp_connection* connection_ = nullptr;
    std::optional<Signal> in_flight_;
    std::string sent_metrics_;                   // in flight
    std::optional<std::string> waiting_metrics_; // the newest
    std::vector<OtlpLine> sent_lines_;           // in flight, or to be tried again
    bool lines_are_due_ = false;
    int64_t retry_at_ns_ = 0, pause_ns_ = 0; // 0: nothing has failed
    std::thread thread_;
};

} // namespace sonde
