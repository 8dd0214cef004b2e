// The arrays are read as maps, element by element or in batches, while handlers change them. So the printed elements
// are each correct, but not all of the same moment; `pause` makes them so.
#include "driver/repl/values.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/bars.h"
#include "base/terminal_text.h"
#include "runtime/values/array_values.h"
#include "runtime/values/histogram.h"
#include "runtime/values/host_arrays.h"

namespace sonde::repl {
namespace {

constexpr size_t most_histograms = 5;
constexpr size_t bar_columns = 30;

std::vector<ArrayElement> largest_first(const plan::Global& global, const SharedMaps& maps,
                                        const ValueSettings& settings) {
    const std::unique_ptr<HostArray> array =
        make_kernel_array(global, maps.map_fd(global.map), reinterpret_cast<plan::SessionWords*>(maps.memory()), -1);
    std::vector<ArrayElement> out = array->snapshot();
    sort_elements(global, settings.max_string, {0, -1, 0, 0, 0, -1, 0, nullptr}, out);
    return out;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' || c == '\\' ? std::string("\\") + c
               : c == '\n'           ? "\\n"
               : c == '\t'           ? "\\t"
                                     : std::string(1, c);
    return terminal_text(out + "\"");
}

bool is_same(const KeyValue& a, const KeyValue& b) {
    return a.is_text == b.is_text && a.number == b.number && a.text == b.text;
}

// Returns `hits["tea",3]`.
std::string name_of(const plan::Global& global, const Keys& keys) {
    std::string out;
    for (const KeyValue& key : keys)
        out += (out.empty() ? "" : ",") + (key.is_text ? quoted(key.text) : std::to_string(key.number));
    return fmt::format("{}[{}]", global.name, out);
}
std::string name_of(const plan::Global& global, const ArrayElement& element) {
    const plan::Plan no_texts;
    return name_of(global, key_values(no_texts, global, element));
}

std::string line_of(const plan::Global& global, const std::string& name, const char* payload,
                    const ValueSettings& settings) {
    if (global.type == plan::Value::String)
        return fmt::format("{}={}\n", name, quoted(string_at(payload, settings.max_string)));
    if (global.type == plan::Value::Long) {
        int64_t value = 0;
        std::memcpy(&value, payload, sizeof value);
        return fmt::format("{}={}\n", name, value);
    }
    const Statistic statistic = statistic_of(global.stats, payload);
    if (statistic.block.count == 0)
        return fmt::format("{} @count=0\n", name);
    const StatsView view{&statistic.block, statistic.buckets.data()};
    return fmt::format("{} @count={} @min={} @max={} @sum={} @avg={}\n", name, statistic.block.count, view.min(),
                       view.max(), statistic.block.sum, view.avg());
}

// Returns the elements that the keys name, and says if there are none.
std::vector<ArrayElement> chosen_elements(const plan::Global& global, const Keys& keys, const SharedMaps& maps,
                                          const ValueSettings& settings, const Write& write) {
    const plan::Plan no_texts;
    std::vector<ArrayElement> out = largest_first(global, maps, settings);
    std::erase_if(out, [&](const ArrayElement& element) {
        return !keys.empty() && !std::ranges::equal(keys, key_values(no_texts, global, element), is_same);
    });
    if (out.empty())
        write(keys.empty() ? fmt::format("{} is empty\n", global.name)
                           : fmt::format("{} does not exist\n", name_of(global, keys)));
    return out;
}

// The number by which elements are compared.
int64_t size_of(const plan::Global& global, const ArrayElement& element) {
    int64_t value = 0;
    if (global.type == plan::Value::Stats)
        return static_cast<int64_t>(statistic_of(global.stats, element.payload.data()).block.count);
    if (global.type == plan::Value::Long)
        std::memcpy(&value, element.payload.data(), sizeof value);
    return value;
}

std::string histogram_of(const plan::Global& global, const char* payload) {
    // The payload in an element need not be aligned.
    std::vector<uint64_t> words(plan::stats_bytes(global.stats) / 8);
    std::memcpy(words.data(), payload, words.size() * 8);
    return render_histogram(global.stats, words.data());
}

} // namespace

void print_global(const plan::Global& global, const Keys& keys, const SharedMaps& maps, const ValueSettings& settings,
                  const Write& write) {
    if (global.keys.empty()) {
        write(line_of(global, global.name, maps.memory() + global.offset, settings));
        return;
    }
    for (const ArrayElement& element : chosen_elements(global, keys, maps, settings, write))
        if (!write(line_of(global, name_of(global, element), element.payload.data(), settings)))
            return;
}

void print_top(const plan::Global& global, const SharedMaps& maps, size_t most, const ValueSettings& settings,
               const Write& write) {
    const std::vector<ArrayElement> elements = largest_first(global, maps, settings);
    const size_t shown = std::min(most, elements.size());
    write(fmt::format("{}: {} element{}{}\n", global.name, elements.size(), elements.size() == 1 ? "" : "s",
                      shown < elements.size() ? fmt::format(", the largest {}", shown) : ""));
    std::vector<std::string> names;
    size_t width = 0;
    for (size_t i = 0; i < shown; i++) {
        names.push_back(name_of(global, elements[i]));
        width = std::max(width, text_width(names.back()));
    }
    const int64_t largest = shown ? size_of(global, elements[0]) : 0;
    for (size_t i = 0; i < shown; i++) {
        std::string line = "  " + line_of(global, names[i], elements[i].payload.data(), settings);
        if (global.type == plan::Value::Long && largest > 0) {
            const int64_t value = size_of(global, elements[i]);
            line = fmt::format(
                "  {}{} {:>12} {}\n", names[i], std::string(width - text_width(names[i]), ' '), value,
                value > 0 ? bar_text(static_cast<double>(value) / static_cast<double>(largest), bar_columns) : "");
        }
        if (!write(line))
            return;
    }
}

void print_histograms(const plan::Global& global, const Keys& keys, const SharedMaps& maps,
                      const ValueSettings& settings, const Write& write) {
    const auto print_one = [&](const std::string& name, const char* payload) {
        const bool is_empty = statistic_of(global.stats, payload).block.count == 0;
        return write(line_of(global, name, payload, settings) + (is_empty ? "" : histogram_of(global, payload)));
    };
    if (global.keys.empty()) {
        print_one(global.name, maps.memory() + global.offset);
        return;
    }
    const std::vector<ArrayElement> elements = chosen_elements(global, keys, maps, settings, write);
    for (size_t i = 0; i < std::min(elements.size(), most_histograms); i++)
        if (!print_one(name_of(global, elements[i]), elements[i].payload.data()))
            return;
    if (elements.size() > most_histograms)
        write(fmt::format("{} more elements of `{}` have fewer values\n", elements.size() - most_histograms,
                          global.name));
}

} // namespace sonde::repl
