// An example of the output, for `printf("%s %d\n", execname(), n)`:
//
//     {"type":"print","probe":"...","time":1790000000000000000,"task":{"pid":42,"tid":42,"name":"cat"},
//      "values":{"execname()":"cat","n":3},"text":"cat 3\n"}
//
// Numbers keep 64 bits. Pointers are strings in hexadecimal.
#include "runtime/values/json_lines.h"

#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/plan/stack.h"
#include "runtime/plan/stack_copy.h"
#include "runtime/processes/process_numbers.h"
#include "runtime/symbols/frame_values.h"
#include "runtime/symbols/no_stacks.h"
#include "runtime/symbols/symbolizer.h"
#include "runtime/text/json.h"
#include "runtime/values/array_values.h"
#include "runtime/values/format.h"
#include "runtime/values/histogram.h"
#include "runtime/values/printed_values.h"
#include "runtime/values/shown_value.h"

namespace sonde {
namespace {

using plan::Directive;

std::string line(const Json& json) { return json_text(json) + "\n"; }

std::string hexadecimal(uint64_t number) { return fmt::format("{:#x}", number); }

// Unknown members are omitted, rather than written as empty strings.
Json frame_json(const Frame& frame) {
    Json out;
    if (frame.language)
        out["language"] = frame.language;
    else
        out["address"] = hexadecimal(frame.address);
    if (!frame.function.empty())
        out["function"] = frame.function;
    if (!frame.function.empty() && !frame.is_inlined && !frame.language)
        out["offset"] = frame.offset;
    if (frame.is_inlined)
        out["inlined"] = true;
    if (!frame.file.empty())
        out["file"] = frame.file;
    if (!frame.source.empty())
        out["source"] = frame.source;
    return out;
}

// An empty statistic has only a count, since its other numbers are undefined. Empty buckets are omitted.
Json statistic_json(const plan::StatsNeeds& needs, const plan::StatsBlock& block, const uint64_t* buckets) {
    const StatsView view{&block, buckets};
    Json out{{"count", block.count}};
    if (block.count) {
        out["min"] = view.min();
        out["max"] = view.max();
        out["sum"] = block.sum;
        out["avg"] = view.avg();
    }
    if (needs.variance)
        out["variance"] = view.variance();
    if (needs.quantiles && block.count)
        for (const NamedPercentile& one : told_percentiles)
            out[one.name] = view.percentile(needs, one.millionths);
    if (needs.buckets() == 0)
        return out;
    Json& rows = out["histogram"] = Json::array();
    for (uint32_t i = 0; i < needs.buckets(); i++) {
        if (buckets[i] == 0)
            continue;
        const BucketBounds bounds = bucket_bounds(needs, i);
        Json row;
        row["from"] = bounds.low ? Json(*bounds.low) : Json();
        row["to"] = bounds.high ? Json(*bounds.high) : Json();
        row["count"] = buckets[i];
        rows.push_back(std::move(row));
    }
    return out;
}

// The conversion decides how a number is shown: `%p` as a hexadecimal string, unsigned conversions as unsigned numbers.
Json number_json(const Directive& d, int64_t number) {
    switch (d.conversion) {
    case 'p':
        return hexadecimal(static_cast<uint64_t>(number));
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        return static_cast<uint64_t>(number);
    default:
        return number;
    }
}

// Returns the async functions at an address of a stack.
std::vector<Frame> async_frames_at(Symbolizer& symbols, uint64_t process, uint64_t address, bool after_call) {
    std::vector<Frame> out;
    const std::string lines =
        symbols.text(process, address, SONDE_SYMBOL_ASYNC | (after_call ? uint64_t{SONDE_BEHIND_CALL} : 0));
    for (size_t begin = 0, end = 0; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const std::string line = lines.substr(begin, end - begin);
        const size_t place = line.rfind(" at ");
        Frame frame;
        frame.process = process;
        frame.address = address;
        frame.file = symbols.text(process, address, SONDE_SYMBOL_PATH);
        frame.function = line.substr(0, place);
        frame.source = place == std::string::npos ? "" : line.substr(place + 4);
        out.push_back(std::move(frame));
    }
    return out;
}

std::vector<Frame> frames_in_style(Symbolizer& symbols, uint64_t process, uint64_t address, bool after_call,
                                   char style) {
    return style == plan::AsyncStack ? async_frames_at(symbols, process, address, after_call)
                                     : frames_at(symbols, process, address, after_call, plan::has_lines(style));
}

Json visited_json(const PrintedValue& visited, Symbolizer& symbols) {
    if (visited.words.empty()) // the record was cut
        return {{"none", why_no_stack(visited.state)}};
    const bool with_lines = plan::has_lines(visited.directive->conversion);
    const VisitedStack stack = symbols.visited_stack(visited.process, visited.words[0], visited.most, with_lines);
    if (!stack.none.empty())
        return {{"none", stack.none}};
    Json frames = Json::array();
    for (size_t i = 0; i < stack.frames.size(); i++) {
        const auto& [address, arguments] = stack.frames[i];
        size_t inlined = 0;
        for (const Frame& frame :
             frames_in_style(symbols, stack.process, address, i > 0, visited.directive->conversion)) {
            frames.push_back(frame_json(frame));
            if (inlined < arguments.size())
                frames.back()["arguments"] = arguments[inlined++];
        }
    }
    return {{"frames", std::move(frames)}, {"whole", stack.state == SONDE_STACK_WHOLE}, {"doing", stack.doing}};
}

// Adds the variables of a function of a stack, which is the one with this number at its address.
void add_values(Json& frame, const FrameValues& values, size_t function) {
    if (!values.none.empty())
        frame["no_variables"] = values.none;
    if (function >= values.functions.size())
        return;
    Json all = Json::array();
    for (const FrameValue& one : values.functions[function]) {
        Json variable{{"name", one.name}};
        if (one.is_argument)
            variable["argument"] = true;
        variable[one.is_available ? "value" : "not_available"] =
            one.is_available ? shown_value_json(one.text) : Json("it " + one.text);
        all.push_back(std::move(variable));
    }
    frame["variables"] = std::move(all);
}

Json value_json(const PrintedValue& value, Symbolizer& symbols) {
    const Directive& d = *value.directive;
    switch (d.kind) {
    case Directive::Literal:
        return {};
    case Directive::Integer:
        return number_json(d, value.number);
    case Directive::Binary:
        return value.number;
    case Directive::Char:
        return std::string(1, static_cast<char>(value.number));
    case Directive::String:
        return d.conversion == 'v' ? shown_value_json(value.text) : Json(value.text);
    case Directive::Memory: {
        std::string bytes;
        for (char byte : value.text)
            bytes += fmt::format("{:02x}", static_cast<uint8_t>(byte));
        return bytes;
    }
    case Directive::Histogram: {
        plan::StatsBlock block;
        std::memcpy(&block, value.words.data(), sizeof block);
        return statistic_json(d.stats, block, value.words.data() + sizeof block / 8);
    }
    case Directive::Stack: {
        if (value.state == SONDE_STACK_VISITED)
            return visited_json(value, symbols);
        if (value.state >= SONDE_STACK_NONE)
            return {{"none", why_no_stack(value.state)}};
        const CallerValues values =
            d.conversion == plan::StackWithValues ? caller_values(symbols, value.process, value.words) : CallerValues();
        Json frames = Json::array();
        for (size_t i = 0; i < value.words.size(); i++) {
            size_t function = 0;
            for (const Frame& frame : frames_in_style(symbols, value.process, value.words[i], i > 0, d.conversion)) {
                frames.push_back(frame_json(frame));
                if (i < values.frames.size())
                    add_values(frames.back(), values.frames[i], function++);
            }
        }
        return {{"frames", std::move(frames)}, {"whole", value.state == SONDE_STACK_WHOLE}};
    }
    case Directive::Addresses: {
        Json frames = Json::array();
        const uint64_t process = value.process ? value.process : symbols.process_of_stack(value.text);
        for (const uint64_t address : addresses_in(value.text))
            for (const Frame& frame : frames_at(symbols, process, address, false, plan::has_lines(d.conversion)))
                frames.push_back(frame_json(frame));
        return {{"frames", std::move(frames)}};
    }
    }
    return {};
}

// The value of a global or an element.
Json payload_json(const plan::Plan& plan, const plan::Global& global, const char* payload) {
    switch (global.type) {
    case plan::Value::Long: {
        int64_t number = 0;
        std::memcpy(&number, payload, sizeof number);
        return global.print_as_pointer ? Json(hexadecimal(static_cast<uint64_t>(number))) : Json(number);
    }
    case plan::Value::String:
        return string_at(payload, plan.max_string);
    case plan::Value::Stats:
        break;
    }
    const Statistic statistic = statistic_of(global.stats, payload);
    return statistic_json(global.stats, statistic.block, statistic.buckets.data());
}

} // namespace

std::string JsonLines::start(int64_t realtime_ns) const {
    Json out{{"type", "start"}, {"time", realtime_ns}, {"script", plan_.script}};
    Json& probes = out["probes"] = Json::array();
    for (const plan::Probe& probe : plan_.probes)
        probes.push_back({{"place", probe.place},
                          {"point", probe.points.empty() ? "" : probe.points[0].pn},
                          {"points", probe.points.size()}});
    return line(out);
}

std::string JsonLines::print(const plan::RecordHeader& header, std::span<const uint8_t> payload) const {
    const plan::Format& format = plan_.formats[header.format];
    Json out{{"type", "print"}}, task = Json::object(), values = Json::object();
    if (header.row < plan_.rows.size())
        out["probe"] = plan_.rows[header.row].pp;
    std::unordered_map<std::string, size_t> names;
    read_values(format, payload, [&](PrintedValue& value) {
        switch (value.directive->about) {
        case plan::About::Time:
            out["time"] = value.number + clock_correction_ns;
            return;
        case plan::About::Process:
            task["pid"] = value.number;
            return;
        case plan::About::Thread:
            task["tid"] = value.number;
            return;
        case plan::About::TaskName:
            task["name"] = value.text;
            return;
        case plan::About::Script:
            break;
        }
        const Directive::Kind kind = value.directive->kind;
        if (value.directive->conversion == 'v' && value.directive->flag == '#') {
            out.emplace(value.directive->name, value.text);
            return;
        }
        const bool is_stack = kind == Directive::Stack || kind == Directive::Addresses;
        const std::string name = is_stack ? "stack" : value.directive->name;
        if (kind == Directive::Literal || name.empty())
            return;
        // A record may have the same name many times: `name`, then `name#2` and so on.
        const size_t times = ++names[name];
        values[times == 1 ? name : fmt::format("{}#{}", name, times)] = value_json(value, symbols_);
    });
    if (!task.empty())
        out["task"] = std::move(task);
    out["values"] = std::move(values);
    out["text"] = render_print(format, payload, &symbols_);
    return line(out);
}

std::string JsonLines::text(const char* type, std::string_view text) const {
    return line({{"type", type}, {"text", text}});
}

std::string JsonLines::scalar(const plan::Global& global, const char* payload, int64_t time) const {
    Json out{{"type", "global"}, {"name", global.name}};
    if (time)
        out["time"] = time;
    out["value"] = payload_json(plan_, global, payload);
    return line(out);
}

std::string JsonLines::array(const plan::Global& global, const std::vector<ArrayElement>& elements,
                             int64_t time) const {
    Json out{{"type", "array"}, {"name", global.name}};
    if (time)
        out["time"] = time;
    Json& names = out["keys"] = Json::array();
    for (size_t i = 0; i < global.keys.size(); i++)
        names.push_back(name_of_key(global, i));
    Json& rows = out["elements"] = Json::array();
    for (const ArrayElement& element : elements) {
        const std::vector<KeyValue> key = key_values(plan_, global, element);
        Json parts = Json::array();
        for (size_t i = 0; i < key.size(); i++) {
            if (is_stack(global.keys[i].role)) {
                Json frames = Json::array();
                for (const Frame& frame : frames_of(symbols_, process_of(global, key, numbers_), key[i]))
                    frames.push_back(frame_json(frame));
                parts.push_back({{"frames", std::move(frames)}});
            } else {
                parts.push_back(key[i].is_text ? Json(key[i].text) : Json(key[i].number));
            }
        }
        rows.push_back({{"key", std::move(parts)}, {"value", payload_json(plan_, global, element.payload.data())}});
    }
    return line(out);
}

std::string JsonLines::end(const Accounting& accounting, int status, uint64_t errors, uint64_t skipped) const {
    Json out{{"type", "end"}, {"errors", errors}, {"skipped", skipped}};
    out.update(accounting.json(plan_.script, status));
    return line(out);
}

} // namespace sonde
