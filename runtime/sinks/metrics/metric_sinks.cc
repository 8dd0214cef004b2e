#include "runtime/sinks/metrics/metric_sinks.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "runtime/sinks/metrics/otlp_pusher.h"
#include "runtime/sinks/metrics/server.h"
#include "runtime/sinks/metrics/spans.h"
#include "runtime/text/messages.h"
#include "runtime/text/output.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

// --otlp. Pushes everything that is written to the session's output, and with --otlp-only=traces also calls.
class OtlpSink final : public Sink {
  public:
    OtlpSink(SessionData& data, Output& output, const OtlpRequest& request, std::unique_ptr<OtlpPusher> pusher)
        : data_(data), output_(output), request_(request), pusher_(std::move(pusher)) {}

    const OtlpPusher& pusher() const { return *pusher_; }

    Result<void> open() override {
        if (const HttpTarget& target = request_.target;
            !request_.settings.headers.empty() && !target.has_tls && !target.is_loopback())
            warn(fmt::format("--otlp-header: what it sends goes over the network to {} as it is; https:// encrypts",
                             target.host_and_port()));
        output_.copy_to(
            [this](std::string_view text) { pusher_->note_printed(text, spans_ ? spans_->within() : OtlpSpanId()); });
        if (!request_.wants(OtlpTraces))
            return {};
        Result<std::unique_ptr<CallSpans>> spans =
            CallSpans::start(data_.plan, [this](OtlpSpan span) { pusher_->keep_span(std::move(span)); });
        if (!spans)
            return std::move(spans).error();
        spans_ = *std::move(spans);
        return {};
    }
    void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) override {
        if (spans_)
            spans_->add(header, payload);
    }
    void after_record() override {
        if (spans_)
            spans_->leave_record();
    }
    bool turn(int64_t now, bool /*handlers_follow*/) override {
        if (spans_)
            spans_->turn(now, data_.words->realtime_offset_ns);
        return false;
    }
    int fd() const override { return pusher_->fd(); }
    void serve() override { pusher_->serve(data_); }
    void detached() override {
        if (request_.wants(OtlpMetrics))
            serve();
    }
    Result<void> close(const SessionEnd& end) override {
        if (spans_)
            spans_->finish();
        if (const std::string dropped = pusher_->finish(end.hurry); !dropped.empty())
            warn(dropped, Weight::Answer);
        return {};
    }

  private:
    SessionData& data_;
    Output& output_;
    const OtlpRequest request_;
    const std::unique_ptr<OtlpPusher> pusher_;
    std::unique_ptr<CallSpans> spans_; // null without --otlp-only=traces
};

// --metrics.
class MetricsSink final : public Sink {
  public:
    MetricsSink(SessionData& data, std::unique_ptr<MetricsServer> server, const OtlpPusher* pusher, bool tells_url)
        : data_(data), server_(std::move(server)), pusher_(pusher), tells_url_(tells_url) {}

    Result<void> open() override {
        if (tells_url_)
            say(fmt::format("the metrics are at {}/metrics", server_->url()));
        if (const std::string exposure = server_->exposure(); !exposure.empty())
            warn(exposure);
        return {};
    }
    void start() override { server_->note_armed(); }
    int fd() const override { return server_ ? server_->fd() : -1; }
    void serve() override { server_->serve(data_, pusher_); }
    void stop() override { server_.reset(); }

  private:
    SessionData& data_;
    std::unique_ptr<MetricsServer> server_; // null after stop()
    const OtlpPusher* pusher_;              // its numbers are metrics, too; null without --otlp
    const bool tells_url_;
};

} // namespace

// The server's pictures include the pusher's numbers, so the pusher is created first. The server ends in stop(), before
// the pusher.
Result<Sinks> make_metric_sinks(SessionData& data, Output& output, const MetricSettings& settings) {
    Sinks out;
    const OtlpPusher* pusher = nullptr;
    if (settings.otlp.wanted()) {
        Result<std::unique_ptr<OtlpPusher>> started = OtlpPusher::start(data.plan, settings.otlp);
        if (!started)
            return std::move(started).error();
        auto sink = std::make_unique<OtlpSink>(data, output, settings.otlp, *std::move(started));
        pusher = &sink->pusher();
        out.push_back(std::move(sink));
    }
    if (settings.metrics.wanted()) {
        Result<std::unique_ptr<MetricsServer>> server = MetricsServer::start(data.plan, settings.metrics);
        if (!server)
            return std::move(server).error();
        out.push_back(std::make_unique<MetricsSink>(data, *std::move(server), pusher,
                                                    settings.tells_url || settings.metrics.port == "0"));
    }
    return out;
}

} // namespace sonde
