#include "runtime/sinks/printing.h"

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/terminal_text.h"
#include "runtime/plan/host_api.h"
#include "runtime/text/messages.h"
#include "runtime/values/array_values.h"
#include "runtime/values/format.h"
#include "runtime/values/histogram.h"
#include "runtime/values/json_lines.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

// Quotes and escapes a string as in the script language.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
            out += c;
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else
            out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
    return out + "\"";
}

// Returns a value as `name=value`. For a statistic, returns its extractors and its histogram.
std::string render(const plan::Global& global, const std::string& name, const char* payload, uint32_t max_string) {
    if (global.type == plan::Value::String)
        return fmt::format("{}={}\n", name, quoted(string_at(payload, max_string)));
    if (global.type == plan::Value::Long) {
        int64_t value = 0;
        std::memcpy(&value, payload, sizeof value);
        return global.print_as_pointer ? fmt::format("{}={:#x}\n", name, static_cast<uint64_t>(value))
                                       : fmt::format("{}={}\n", name, value);
    }
    const Statistic statistic = statistic_of(global.stats, payload);
    const plan::StatsBlock& block = statistic.block;
    const StatsView view{&block, statistic.buckets.data()};
    if (block.count == 0)
        return fmt::format("{} @count=0\n", name);
    std::string out = fmt::format("{} @count={} @min={} @max={} @sum={} @avg={}\n", name, block.count, view.min(),
                                  view.max(), block.sum, view.avg());
    if (global.stats.buckets())
        out += render_histogram(global.stats, reinterpret_cast<const uint64_t*>(payload));
    return out;
}

// The common part of all formats: at the end, prints the globals, the largest elements of arrays first.
class PrintSink : public Sink {
  public:
    PrintSink(SessionData& data, Output& output, const PrintSettings& settings)
        : data_(data), output_(output), settings_(settings) {}

    // Prints the globals, except those that a picture shows.
    Result<void> finish(const std::function<bool()>& /*hurry*/) override {
        const bool prints = settings_.prints_globals && !data_.aborted;
        for (size_t i = 0; prints && i < data_.plan.globals.size(); i++)
            if (const plan::Global& global = data_.plan.globals[i]; global.auto_print && !data_.pictured.contains(i))
                output_.write(global.keys.empty() ? scalar(global) : array(global, largest_first(i)));
        return {};
    }

  protected:
    virtual std::string scalar(const plan::Global& global) = 0;
    virtual std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements) = 0;

    SessionData& data_;
    Output& output_;
    const PrintSettings settings_;

  private:
    std::vector<ArrayElement> largest_first(size_t index) const {
        std::vector<ArrayElement> elements = data_.arrays[index]->snapshot();
        const HostForeach order{static_cast<uint32_t>(index), -1, 0, 0, 0, -1, 0, nullptr};
        sort_elements(data_.plan.globals[index], data_.plan.max_string, order, elements);
        return elements;
    }
};

// --format=text: the script's output, and globals as `name=value`.
class TextSink : public PrintSink {
  public:
    using PrintSink::PrintSink;

    void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) override {
        if (const plan::Format& format = data_.plan.formats[header.format]; !format.is_hit)
            output_.write(render_print(format, payload, &data_.symbols, escapes()));
    }
    void text(SinkText kind, std::string_view text) override {
        if (kind == SinkText::Printed)
            output_.write(shown(std::string(text)));
        else if (kind == SinkText::HitTimes)
            output_.write(text);
    }

  protected:
    std::string scalar(const plan::Global& global) override {
        return shown(render(global, global.name, data_.scalar(global), data_.plan.max_string));
    }
    std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements) override {
        std::string out;
        for (const ArrayElement& element : elements) {
            std::string keys;
            for (const KeyValue& key : key_values(data_.plan, global, element))
                keys += (keys.empty() ? "" : ",") + (key.is_text ? quoted(key.text) : std::to_string(key.number));
            out += shown(render(global, fmt::format("{}[{}]", global.name, keys), element.payload.data(),
                                data_.plan.max_string));
        }
        return out;
    }

  private:
    // Control characters of traced programs must not reach a terminal.
    bool escapes() const { return output_.is_terminal() && !settings_.raw; }
    std::string shown(const std::string& text) const { return escapes() ? terminal_text(text) : text; }
};

// --format=csv and tsv: like text, but arrays are printed as tables.
class TableSink final : public TextSink {
  public:
    TableSink(SessionData& data, Output& output, const PrintSettings& settings, TableForm form)
        : TextSink(data, output, settings), form_(form) {}

  protected:
    std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements) override {
        return render_table(form_, data_.plan, data_.symbols, data_.numbers, global, elements);
    }

  private:
    TableForm form_;
};

// --format=json: one object for each event, on its own line (docs/output.schema.json).
class JsonSink final : public PrintSink {
  public:
    using PrintSink::PrintSink;

    Result<void> open() override {
        if (!data_.plan.tells_context && !data_.plan.formats.empty())
            warn("the plan was saved without --format=json, so printed lines have neither a time nor a task");
        output_.write(lines_.start(real_time_ns()));
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
        const int64_t correction = real_time_ns() - kernel_now_ns() - data_.words->realtime_offset_ns;
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
    JsonLines lines_{data_.plan, data_.symbols, data_.numbers};
};

} // namespace

std::unique_ptr<Sink> make_print_sink(SessionData& data, Output& output, const PrintSettings& settings) {
    switch (settings.format) {
    case OutputFormat::Text:
        return std::make_unique<TextSink>(data, output, settings);
    case OutputFormat::Json:
        return std::make_unique<JsonSink>(data, output, settings);
    case OutputFormat::Csv:
        return std::make_unique<TableSink>(data, output, settings, TableForm::Csv);
    case OutputFormat::Tsv:
        return std::make_unique<TableSink>(data, output, settings, TableForm::Tsv);
    }
    return nullptr;
}

} // namespace sonde
