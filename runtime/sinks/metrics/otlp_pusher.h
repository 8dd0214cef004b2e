// --otlp: pushes the session's metrics, its output and its calls to an OTLP collector over HTTP.
//
// A separate thread does all the work: encoding, name resolution, connections, waiting. The session's thread only
// provides pictures on request and copies printed text. All queues are bounded: the newest picture of the metrics, and
// some megabytes of lines and of spans. So a slow collector never delays the session. It only loses data, and the
// losses are counted. Like the --metrics server, the thread uses libevent for HTTP (http/poster.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/sinks/http/poster.h"
#include "runtime/sinks/metrics/families.h"
#include "runtime/sinks/metrics/otlp.h"
#include "runtime/sinks/metrics/otlp_delta.h"
#include "runtime/sinks/metrics/otlp_numbers.h"
#include "runtime/sinks/metrics/otlp_queue.h"
#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/picture_exchange.h"

namespace sonde {

class OtlpPusher {
  public:
    // Fails if memory or file descriptors run out, or if the file of --tls-ca cannot be used. A collector that is not
    // available is not an error here.
    static Result<std::unique_ptr<OtlpPusher>> start(const plan::Plan& plan, const OtlpRequest& request);
    ~OtlpPusher(); // drops everything that is not sent yet
    OtlpPusher(const OtlpPusher&) = delete;
    OtlpPusher& operator=(const OtlpPusher&) = delete;

    // For the session's thread:
    int fd() const { return exchange_.wanted_fd(); } // readable when the thread wants a picture
    void serve(const SessionData& data) { exchange_.serve(data, this); }
    // Adds printed text, which may be a part of a line. `within`: the call whose handler prints.
    void note_printed(std::string_view text, const OtlpSpanId& within);
    // Adds a finished call.
    void keep_span(OtlpSpan span);
    // Returns the counts of pushes so far. Any thread may call it.
    OtlpNumbers numbers() const;
    // Sends the last picture that was served, and all lines and spans. Waits at most 2 seconds, or until `hurry()`
    // returns true. Returns a message about everything that was dropped during the session, or else the collector's
    // advice; "" if neither exists.
    std::string finish(const std::function<bool()>& hurry);

  private:
    // The families of a picture.
    struct Metrics {
        std::vector<MetricFamily> families;
        int64_t began_ns = 0, time_ns = 0;
    };
    OtlpPusher(const plan::Plan& plan, const OtlpRequest& request);
    // Creates the event loop, the connection and the events. Runs before the thread starts.
    Result<void> open();
    // For the session's thread. keep_line() queues the line that has just ended. keep() wakes the thread when enough
    // items for a request are queued.
    void keep_line();
    template <typename Item> void keep(OtlpSignal signal, OtlpQueue<Item>& queue, Item item);
    // The rest runs in the pusher's thread. run() executes the event loop until finish() or the destructor ends it.
    void run();
    // Event handlers: on_told() for a message of the session's thread, on_time() for the end of an interval, and
    // on_answer() for the end of a request.
    void on_told();
    void on_time();
    // Starts the next request, if one is due.
    void turn();
    std::string metrics_body(const Metrics& metrics) const;
    void send(OtlpSignal signal, const std::string& body);
    void on_answer(OtlpSignal signal, const HttpAnswer& answer);
    // Decides which metrics to send after a failure, and starts a pause.
    void retry(OtlpSignal signal, const HttpAnswer& answer);
    void note_dropped(OtlpSignal signal, uint64_t count) { dropped_[signal] += count; }
    void note_problem(std::string problem);

    const plan::Plan& plan_;
    const OtlpRequest request_;
    const MetricNames names_;
    OtlpResource resource_;
    PictureExchange exchange_;
    event_base* base_ = nullptr;
    event* told_event_ = nullptr;
    event* time_event_ = nullptr;  // fires at every interval
    event* retry_event_ = nullptr; // fires when a failed push is due again
    std::unique_ptr<HttpPoster> poster_;
    std::atomic<bool> ending_ = false, leaving_ = false;
    std::atomic<uint64_t> pushed_[otlp_signal_count] = {}, dropped_[otlp_signal_count] = {}, retries_ = 0;
    std::atomic<uint64_t> unseen_returns_ = 0;
    OtlpQueue<OtlpLine> lines_;
    OtlpQueue<OtlpSpan> spans_;

    std::mutex mutex_; // protects the members up to advice_
    std::condition_variable done_changed_;
    bool is_done_ = false;
    std::string problem_; // the last problem
    std::string advice_;  // the last advice that came with an accepted push

    OtlpLine begun_line_; // used by the session's thread: the text of a line without its end so far

    // Only the pusher's thread uses these:
    std::optional<OtlpSignal> in_flight_;
    std::optional<Metrics> sent_, waiting_;  // in flight, or to be sent again unchanged; the newest picture
    std::string sent_body_;                  // the encoded form of sent_
    OtlpBase base_metrics_;                  // for deltas: the last picture that the collector has accepted
    int64_t retry_at_ns_ = 0, pause_ns_ = 0; // 0: the last push succeeded
    std::thread thread_;
};

} // namespace sonde
