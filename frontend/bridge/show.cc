// Both languages print all maps at the end of a session, and have functions that print one. Our language prints globals
// by itself, but in another form. So the translation writes the loop, and the output looks like that of the other tool.
// For `@reads[pid] = count()`, the loop is
//
//     foreach (key in reads-)
//         printf("@reads[%d]: %d\n", key, reads[key])
//
// The result is source text, because users read and change it. A map without keys needs no loop. Parts of a key that
// are stacks are printed on separate lines, before the line with the other parts.
#include "frontend/bridge/show.h"

#include <fmt/format.h>

namespace sonde::bridge {
namespace {

bool is_stack(Value value) { return value == Value::KernelStack || value == Value::UserStack; }
// The function that prints a stack with symbols.
const char* symbols_of(Value stack) { return stack == Value::KernelStack ? "print_syms" : "print_usyms"; }

// A value as an argument of printf, and its directive; empty for histograms.
struct Shown {
    std::string directive, value;
};
Shown show_value(const MapFacts& map, const std::string& element, const std::string& divisor) {
    const auto one = [&](const std::string& value) {
        return Shown{"%d", divisor.empty() ? value : fmt::format("{} / {}", value, divisor)};
    };
    switch (map.collects) {
    case Collects::Average:
        return one(fmt::format("@avg({})", element));
    case Collects::Least:
        return one(fmt::format("@min({})", element));
    case Collects::Most:
        return one(fmt::format("@max({})", element));
    case Collects::Statistics:
        return {"count %d, average %d, total %d", fmt::format("@count({0}), @avg({0}), @sum({0})", element)};
    case Collects::Powers:
    case Collects::Linear:
        return {};
    default:
        if (map.value == Value::Text)
            return {"%s", element};
        if (is_stack(map.value))
            return {"\\n%s",
                    fmt::format("{}({})", map.value == Value::KernelStack ? "sprint_syms" : "sprint_usyms", element)};
        return one(element);
    }
}

std::string histogram(const MapFacts& map, const std::string& element) {
    if (map.collects == Collects::Powers)
        return fmt::format("print(@hist_log({}))", element);
    return fmt::format("print(@hist_linear({}, {}, {}, {}))", element, map.ranges[0], map.ranges[1], map.ranges[2]);
}

bool is_histogram(const MapFacts& map) {
    return map.collects == Collects::Powers || (map.collects == Collects::Linear && map.ranges.size() == 3);
}

// An empty statistic has no average or minimum, so it must not be printed.
bool is_statistic(const MapFacts& map) {
    return map.collects != Collects::Nothing && map.collects != Collects::Count && map.collects != Collects::Sum;
}

// The sort order of a loop over the map: the largest value first.
std::string order_of(const MapFacts& map) {
    switch (map.collects) {
    case Collects::Average:
        return " @avg -";
    case Collects::Least:
        return " @min -";
    case Collects::Most:
        return " @max -";
    case Collects::Statistics:
    case Collects::Powers:
    case Collects::Linear:
        return " @count -";
    default:
        return map.value == Value::Number ? "-" : "";
    }
}

} // namespace

std::vector<std::string> show_map(const std::string& there, const MapFacts& map, const ShowOptions& asked) {
    std::vector<std::string> out;
    const ShowOptions options{asked.top.empty() ? map.top : asked.top,
                              asked.divisor.empty() ? map.divisor : asked.divisor};
    if (map.keys.empty()) {
        const Shown shown = show_value(map, map.name, options.divisor);
        const std::string guard = is_statistic(map) ? fmt::format("if (@count({})) ", map.name) : "";
        if (is_histogram(map))
            return {fmt::format("println(\"@{}:\")", there), guard + histogram(map, map.name)};
        return {fmt::format("{}printf(\"@{}: {}\\n\", {})", guard, there, shown.directive, shown.value)};
    }
    std::string keys, directives, values;
    std::vector<std::string> lines;
    for (size_t i = 0; i < map.keys.size(); i++) {
        const std::string& key = map.key_names[i];
        keys += (keys.empty() ? "" : ", ") + key;
        if (is_stack(map.keys[i])) {
            lines.push_back(fmt::format("    {}({})", symbols_of(map.keys[i]), key));
            continue;
        }
        directives += fmt::format("{}{}", directives.empty() ? "" : ", ", map.keys[i] == Value::Text ? "%s" : "%d");
        values += fmt::format(", {}", key);
    }
    const std::string element = fmt::format("{}[{}]", map.name, keys);
    const Shown shown = show_value(map, element, options.divisor);
    const std::string name = directives.empty() ? fmt::format("@{}", there) : fmt::format("@{}[{}]", there, directives);
    if (is_histogram(map)) {
        lines.push_back(fmt::format("    printf(\"{}:\\n\"{})", name, values));
        lines.push_back("    " + histogram(map, element));
    } else {
        lines.push_back(fmt::format("    printf(\"{}: {}\\n{}\"{}, {})", name, shown.directive,
                                    lines.empty() ? "" : "\\n", values, shown.value));
    }
    const std::string limit = options.top.empty() ? "" : fmt::format(" limit {}", options.top);
    const std::string head =
        fmt::format("foreach ({} in {}{}{})", map.keys.size() == 1 ? keys : fmt::format("[{}]", keys), map.name,
                    order_of(map), limit);
    if (lines.size() == 1)
        return {head, lines[0]};
    out.push_back(head + " {");
    out.insert(out.end(), lines.begin(), lines.end());
    out.emplace_back("}");
    return out;
}

} // namespace sonde::bridge
