#include "runtime/sinks/printing.h"

#include <cstring>

#include <fmt/format.h>

#include "base/terminal_text.h"
#include "runtime/plan/host_api.h"
#include "runtime/values/array_values.h"
#include "runtime/values/format.h"
#include "runtime/values/histogram.h"
#include "runtime/values/session_data.h"
#include "runtime/values/tables.h"

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

// Returns a value as `name=value`. For a statistic, returns its extractors and its histogram:
//
//     opens=42
//     last="/etc/passwd"
//     reads["cat"] @count=2 @min=10 @max=30 @sum=40 @avg=20
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

// --format=text: the script's output, and globals as `name=value`.
class TextSink : public PrintSink {
  public:
    using PrintSink::PrintSink;

    void record(const plan::RecordHeader& header, std::span<const uint8_t> payload) override {
        if (const plan::Format& format = data_.plan.formats[header.format]; !format.is_hit)
            output_.write(render_print(format, payload, &data_.symbolizer(), escapes()));
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

class TableSink final : public TextSink {
  public:
    TableSink(SessionData& data, Output& output, const PrintSettings& settings, const TableForm& form)
        : TextSink(data, output, settings), form_(form) {}

  protected:
    std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements) override {
        return render_table(form_, data_.plan, data_.symbolizer(), data_.numbers, global, elements);
    }

  private:
    const TableForm form_;
};

} // namespace

Result<void> PrintSink::finish(const std::function<bool()>& /*hurry*/) {
    const bool prints = settings_.prints_globals && !data_.aborted;
    for (size_t i = 0; prints && i < data_.global_count(); i++)
        if (const plan::Global& global = data_.global(i); global.auto_print && !data_.pictured.contains(i))
            output_.write(global.keys.empty() ? scalar(global) : array(global, largest_first(i)));
    return {};
}

std::vector<ArrayElement> PrintSink::largest_first(size_t index) const {
    std::vector<ArrayElement> elements = data_.arrays[index]->snapshot();
    const HostForeach order{static_cast<uint32_t>(index), -1, 0, 0, 0, -1, 0, nullptr};
    sort_elements(data_.global(index), data_.plan.max_string, order, elements);
    return elements;
}

std::unique_ptr<Sink> make_text_sink(SessionData& data, Output& output, const PrintSettings& settings) {
    return std::make_unique<TextSink>(data, output, settings);
}
std::unique_ptr<Sink> make_no_sink(SessionData& /*data*/, Output& /*output*/, const PrintSettings& /*settings*/) {
    return std::make_unique<Sink>();
}
std::unique_ptr<Sink> make_table_sink(const TableForm& form, SessionData& data, Output& output,
                                      const PrintSettings& settings) {
    return std::make_unique<TableSink>(data, output, settings, form);
}

Result<Sinks> make_print_sinks(SessionData& data, Output& output, const PrintSettings& settings) {
    switch (settings.format) {
#define FORMAT(id, name, maker, ...)                                                                                   \
    case OutputFormat::id:                                                                                             \
        return one_sink(maker(data, output, settings));
#include "runtime/text/formats.def"
#undef FORMAT
    }
    return Sinks();
}

} // namespace sonde
