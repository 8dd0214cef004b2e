#include "runtime/values/tables.h"

#include <cstring>

#include <fmt/format.h>

#include "runtime/processes/process_numbers.h"
#include "runtime/symbols/symbolizer.h"
#include "runtime/values/array_values.h"
#include "runtime/values/format.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

// A stack as one field: the names of its functions, as flame graph tools expect them.
std::string stack_field(const std::vector<Frame>& innermost_first) {
    std::vector<std::string> names;
    for (auto frame = innermost_first.rbegin(); frame != innermost_first.rend(); ++frame)
        names.push_back(frame_name(*frame));
    return folded(names);
}

// Quotes a field as RFC 4180 requires.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (char c : text)
        out += c == '"' ? "\"\"" : std::string(1, c);
    return out + "\"";
}

// Puts an apostrophe before a text that a spreadsheet would execute as a formula. The text may come from another user,
// for example as a file name, and formulas can run commands. Numbers need no protection.
std::string cell_text(const std::string& text) {
    return !text.empty() && std::string_view("=+-@\t\r\n").find(text[0]) != std::string_view::npos ? "'" + text : text;
}

// The value of an element that is not a statistic.
std::string value_field(const plan::Plan& plan, const plan::Global& global, const char* payload) {
    if (global.type == plan::Value::String)
        return cell_text(string_at(payload, plan.max_string));
    int64_t number = 0;
    std::memcpy(&number, payload, sizeof number);
    return global.print_as_pointer ? fmt::format("{:#x}", static_cast<uint64_t>(number)) : std::to_string(number);
}

std::string table_line(const TableForm& form, const std::vector<std::string>& fields) {
    std::string out;
    for (size_t i = 0; i < fields.size(); i++)
        out += (i ? form.separator : "") + form.field(fields[i]);
    return out + "\n";
}

} // namespace

const TableForm csv_form{",", csv_field};

std::string render_table(const TableForm& form, const plan::Plan& plan, Symbolizer& symbols,
                         const ProcessNumbers& numbers, const plan::Global& global,
                         const std::vector<ArrayElement>& elements) {
    std::vector<std::string> fields;
    for (size_t i = 0; i < global.keys.size(); i++)
        fields.push_back(name_of_key(global, i));
    if (global.type == plan::Value::Stats) {
        for (const char* column : {"count", "min", "max", "sum", "avg"})
            fields.emplace_back(fmt::format("{}.{}", global.name, column));
        if (global.stats.quantiles)
            for (const NamedPercentile& one : told_percentiles)
                fields.emplace_back(fmt::format("{}.{}", global.name, one.name));
    } else {
        fields.push_back(global.name);
    }
    std::string out = table_line(form, fields);
    for (const ArrayElement& element : elements) {
        fields.clear();
        const std::vector<KeyValue> key = key_values(plan, global, element);
        for (size_t i = 0; i < key.size(); i++)
            fields.push_back(is_stack(global.keys[i].role)
                                 ? cell_text(stack_field(frames_of(symbols, process_of(global, key, numbers), key[i])))
                             : key[i].is_text ? cell_text(key[i].text)
                                              : std::to_string(key[i].number));
        if (global.type == plan::Value::Stats) {
            const Statistic statistic = statistic_of(global.stats, element.payload.data());
            const StatsView view{&statistic.block, statistic.buckets.data()};
            const bool any = statistic.block.count != 0;
            fields.push_back(std::to_string(statistic.block.count));
            for (const int64_t number : {view.min(), view.max(), statistic.block.sum, view.avg()})
                fields.push_back(any ? std::to_string(number) : "");
            if (global.stats.quantiles)
                for (const NamedPercentile& one : told_percentiles)
                    fields.push_back(any ? std::to_string(view.percentile(global.stats, one.millionths)) : "");
        } else {
            fields.push_back(value_field(plan, global, element.payload.data()));
        }
        out += table_line(form, fields);
    }
    return out;
}

} // namespace sonde
