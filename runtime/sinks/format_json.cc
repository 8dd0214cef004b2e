#include <cstdlib>

#include "runtime/sinks/printing.h"
#include "runtime/text/messages.h"
#include "runtime/text/output.h"
#include "runtime/values/json_lines.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

// --format=json: one object for each event, on its own line (docs/output.schema.json).
class JsonSink final : public PrintSink {
  public:
    using PrintSink::PrintSink;

    Result<void> open() override {
        if (!data_.plan.translate.tells_context && !data_.plan.formats.empty())
            warn("the plan was saved without --format=json, so printed lines have neither a time nor a task");
        output_.write(lines_.start(data_.began_ns));
        return {};
    }
    void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) override {
        if (!data_.plan.formats[header.format].is_hit)
            output_.write(lines_.print(header, payload));
    }
    void text(SinkText kind, std::string_view text) override {
        if (kind != SinkText::HitTimes)
            output_.write(lines_.text(kind == SinkText::Printed   ? "text"
                                      : kind == SinkText::Warning ? "warning"
                                                                  : "error",
                                      text));
    }
    // Adjusts later timestamps if the system clock was set.
    bool turn(int64_t /*now*/, bool /*handlers_follow*/) override {
        // Ignore small differences: the two clocks cannot be read at the same moment.
        constexpr int64_t noticed_ns = 1'000'000;
        const int64_t correction = data_.real_time() - data_.kernel_time() - data_.words->realtime_offset_ns;
        if (std::abs(correction - lines_.clock_correction_ns) > noticed_ns)
            lines_.clock_correction_ns = correction;
        return false;
    }
    Result<void> close(const SessionEnd& end) override {
        output_.write(lines_.end(end.accounting, end.status, end.errors, end.skipped));
        return {};
    }

  protected:
    std::string scalar(const plan::Global& global) override { return lines_.scalar(global, data_.scalar(global)); }
    std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements) override {
        return lines_.array(global, elements);
    }

  private:
    JsonLines lines_{data_.plan, data_.symbolizer(), data_.numbers};
};

} // namespace

std::unique_ptr<Sink> make_json_sink(SessionData& data, Output& output, const PrintSettings& settings) {
    return std::make_unique<JsonSink>(data, output, settings);
}

} // namespace sonde
