#include "driver/option_messages.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "driver/option_table.h"

namespace sonde {
namespace {

// Options of other tracers, and their counterparts in sonde.
constexpr std::pair<std::string_view, std::string_view> habits[] = {
    {"-n", "-e SCRIPT runs a script"},
    {"-f", "a script's file needs no option"},
    {"--pid", "-x PID traces a process"},
};

} // namespace

std::string unknown_option(const std::string& word) {
    const std::string name = word.substr(0, std::max<size_t>(word.find('='), 2));
    std::string out = fmt::format("there is no option `{}`", name);
    if (const auto* habit = std::ranges::find(habits, name, &std::pair<std::string_view, std::string_view>::first);
        habit != std::end(habits))
        out += fmt::format("; {}", habit->second);
    else if (const std::string near = nearest_option(name); !near.empty())
        out += fmt::format("; did you mean `{}`?", near);
    return out;
}

std::string why_no_target(const std::string& called, const std::string& value) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number > 0)
        return "";
    return fmt::format("{}: `{}` is not the number of a process: give one from 1 on, as `pidof NAME` prints it", called,
                       value);
}

} // namespace sonde
