// CLI11 tells what it has found in sentences, not in parts. Those that a mistyped command line leads to are read here
// and said as sonde says things: what was written, what was expected, and the nearest name. Sentences that are not
// known stay as they are.
#include "driver/option_messages.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/suggest.h"
#include "driver/own_options.h"

namespace sonde {
namespace {

// Options of other tracers, and what is ours for them.
constexpr std::pair<std::string_view, std::string_view> habits[] = {
    {"-n", "-e SCRIPT runs a script"},
    {"-f", "a script's file stands by itself"},
    {"--pid", "-x PID traces a process"},
};

// What stands between two parts of a text; nothing if it does not have both.
std::optional<std::string> between(const std::string& text, std::string_view before, std::string_view after) {
    const size_t begin = text.find(before);
    if (begin == std::string::npos)
        return {};
    const size_t from = begin + before.size();
    const size_t end = after.empty() ? text.size() : text.rfind(after);
    if (end == std::string::npos || end < from)
        return {};
    return text.substr(from, end - from);
}

std::string unknown_option(const std::string& words) {
    const std::string word = words.substr(0, words.find(' '));
    const std::string name = word.substr(0, std::max<size_t>(word.find('='), 2));
    std::string out = fmt::format("there is no option `{}`", name);
    if (const auto* habit = std::ranges::find(habits, name, &std::pair<std::string_view, std::string_view>::first);
        habit != std::end(habits))
        out += fmt::format("; {}", habit->second);
    else if (const std::string near = nearest_option(name); !near.empty())
        out += fmt::format("; did you mean `{}`?", near);
    return out;
}

// "a,b,c": what an option's value may be.
std::string none_of(const std::string& option, const std::string& value, const std::string& list) {
    std::vector<std::string> values;
    std::istringstream text(list);
    for (std::string one; std::getline(text, one, ',');)
        values.push_back(one);
    const std::string near = nearest_name(value, values);
    return fmt::format("{}: `{}` is none of `{}`{}", option, value, fmt::join(values, "`, `"),
                       near.empty() ? "" : fmt::format("; did you mean `{}`?", near));
}

} // namespace

std::string explain_option_error(const std::string& text) {
    if (const std::optional<std::string> words = between(text, " not expected: ", ""))
        return unknown_option(*words);
    if (const std::optional<std::string> pair = between(text, "Could not convert: ", "")) {
        const size_t equals = pair->find(" = ");
        if (equals != std::string::npos)
            return fmt::format("{}: `{}` is no number{}", pair->substr(0, equals), pair->substr(equals + 3),
                               pair->starts_with("-s =")
                                   ? "; it is the buffer's size, and a script stands by itself: sonde FILE"
                                   : "");
    }
    const std::string option = text.substr(0, text.find(':'));
    if (!option.starts_with('-'))
        return text;
    if (const std::optional<std::string> value = between(text, ": Value ", " not in range ")) {
        const std::optional<std::string> range = between(text, " not in range ", "");
        const bool is_process =
            option == "-p" && std::ranges::all_of(*value, [](unsigned char c) { return isdigit(c); });
        return fmt::format("{}: `{}` is no number from {}{}", option, *value, *range,
                           is_process ? ": it is the last pass that runs, and -x PID traces a process" : "");
    }
    if (const std::optional<std::string> value = between(text, ": ", " not in {"))
        return none_of(option, *value, *between(text, " not in {", "}"));
    if (text.ends_with(" missing") && text.find(" required ") != std::string::npos)
        return fmt::format("{} needs a value", option);
    if (text.find(": At Most 1 required") != std::string::npos)
        return fmt::format("{} is there more than once, and takes one value", option);
    return text;
}

std::string why_no_target(const std::string& called, const std::string& value) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number > 0)
        return "";
    return fmt::format("{}: `{}` is no number of a process: give one from 1 on, as `pidof NAME` prints them", called,
                       value);
}

} // namespace sonde
