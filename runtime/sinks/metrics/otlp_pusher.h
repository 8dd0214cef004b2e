// --otlp: pushes the session's metrics, what it prints, and its calls to a collector that speaks OTLP over HTTP.
//
// A thread of its own does all of it: names, messages, connections, waiting. The session's thread gives it a picture
// when it asks for one, and copies what is printed. What waits is bounded: of the metrics only the newest picture, of
// lines and of spans some megabytes. So a collector that is slow or away costs the session nothing but what it does not
// get, which is counted. HTTP is libevent's, as the server's (http/poster.h).
//
// Metrics are cumulative, so that a push may be left out for a newer one; or deltas from the picture that the collector
// has taken last (otlp_delta.h), so that a push that was refused may be left out, too. One without an answer may have
// been taken: with deltas it is sent again as it was, before anything else.
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
    // Errors: no memory, no descriptors; --tls-ca. That the collector is away is none.
    static Result<std::unique_ptr<OtlpPusher>> start(const plan::Plan& plan, const OtlpRequest& request);
    ~OtlpPusher(); // what waits is dropped
    OtlpPusher(const OtlpPusher&) = delete;
    OtlpPusher& operator=(const OtlpPusher&) = delete;

    // In the session's thread.
    int fd() const { return exchange_.wanted_fd(); } // readable when a picture is wanted
    void serve(const SessionData& data) { exchange_.serve(data, this); }
    // Pieces of lines, in their order, and the calls whose handlers print them.
    void note_printed(std::string_view text, const OtlpSpanId& within);
    void keep_span(OtlpSpan span);
    OtlpNumbers numbers() const;
    // The last push: of the picture that was served last, and of all lines and spans. Waits 2 seconds at most, and not
    // if `hurry`. Gives what was dropped during the session, in words, or else the collector's advice; empty: neither.
    std::string finish(const std::function<bool()>& hurry);

  private:
    // The metrics of a picture.
    struct Metrics {
        std::vector<MetricFamily> families;
        int64_t began_ns = 0, time_ns = 0;
    };
    OtlpPusher(const plan::Plan& plan, const OtlpRequest& request);
    Result<void> open();
    void keep_line();
    template <typename Item> void keep(OtlpSignal signal, OtlpQueue<Item>& queue, Item item);
    void run();
    void on_told();
    void on_time();
    void turn();
    std::string metrics_body(const Metrics& metrics) const;
    void send(OtlpSignal signal, const std::string& body);
    void on_answer(OtlpSignal signal, const HttpAnswer& answer);
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
    event* time_event_ = nullptr;  // every interval
    event* retry_event_ = nullptr; // when a collector that was away is tried again
    std::unique_ptr<HttpPoster> poster_;
    std::atomic<bool> ending_ = false, leaving_ = false;
    std::atomic<uint64_t> pushed_[otlp_signal_count] = {}, dropped_[otlp_signal_count] = {}, retries_ = 0;
    std::atomic<uint64_t> unseen_returns_ = 0;
    OtlpQueue<OtlpLine> lines_;
    OtlpQueue<OtlpSpan> spans_;

    std::mutex mutex_; // of what follows
    std::condition_variable done_changed_;
    bool is_done_ = false;
    std::string problem_; // the last one
    std::string advice_;  // the last that came with a push that was taken

    OtlpLine begun_line_; // the session's own thread's: printed without an end so far

    // The thread's own.
    std::optional<OtlpSignal> in_flight_;
    std::optional<Metrics> sent_, waiting_;  // in flight, or to be sent again as it was; the newest
    std::string sent_body_;                  // of sent_
    OtlpBase base_metrics_;                  // deltas: what the collector has
    int64_t retry_at_ns_ = 0, pause_ns_ = 0; // 0: nothing has failed
    std::thread thread_;
};

} // namespace sonde
