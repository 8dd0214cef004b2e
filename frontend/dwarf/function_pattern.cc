// Parses FUNCTION[@FILE[:LINE | :FIRST-LAST | +OFFSET | :*]], with commas between lines and ranges.
#include "frontend/dwarf/function_pattern.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/dwarf/symbol_text.h"

namespace sonde {
namespace {

// Returns `text` as a line number, or nullopt.
std::optional<int> parse_line(std::string_view text) {
    int line = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line);
    if (error != std::errc() || end != text.data() + text.size() || line < 0 || text.empty() || text[0] == '-')
        return std::nullopt;
    return line;
}

} // namespace

Result<FunctionPattern> FunctionPattern::parse(std::string_view text) {
    FunctionPattern pattern;
    size_t at = text.find('@');
    pattern.function = text.substr(0, at);
    // In Rust, `f::<i32>` means the function `f<i32>`.
    for (size_t turbofish = 0; (turbofish = pattern.function.find("::<", turbofish)) != std::string::npos; turbofish++)
        if (std::string_view rest = std::string_view(pattern.function).substr(turbofish);
            !rest.starts_with("::<impl ") && !rest.starts_with("::<lambda") && !rest.starts_with("::<unnamed"))
            pattern.function.erase(turbofish, 2);
    pattern.parameters = symbol_parameters(pattern.function);
    pattern.function.resize(pattern.function.size() - pattern.parameters.size());
    if (pattern.function.empty())
        return Error("the function's name is missing; write `*` for any function");
    if (at == std::string_view::npos)
        return pattern;

    // The file's name may contain `:` and `+`, so search from the end.
    std::string_view rest = text.substr(at + 1);
    size_t colon = rest.rfind(':');
    size_t plus = rest.rfind('+');
    if (colon != std::string_view::npos) {
        std::string_view lines = rest.substr(colon + 1);
        size_t dash = lines.find('-');
        if (lines == "*") {
            pattern.line_kind = Wildcard;
        } else if (dash != std::string_view::npos) {
            std::optional<int> first = parse_line(lines.substr(0, dash));
            std::optional<int> last = parse_line(lines.substr(dash + 1));
            if (!first || !last)
                return Error(fmt::format("`{}` is not a range of lines; write `FIRST-LAST`", lines));
            if (*first > *last)
                return Error(fmt::format("the range `{}` ends before it begins", lines));
            pattern.line_kind = LineRange;
            pattern.line = *first;
            pattern.line_end = *last;
        } else if (std::optional<int> line = parse_line(lines)) {
            pattern.line_kind = Absolute;
            pattern.line = pattern.line_end = *line;
        } else {
            return Error(fmt::format("`{}` is not a line; write a number, `FIRST-LAST` or `*`", lines));
        }
        rest = rest.substr(0, colon);
    } else if (plus != std::string_view::npos) {
        // A `+` can be part of a file's name (`c++/list.cc`). It begins an offset only if digits follow up to the end.
        if (std::optional<int> offset = parse_line(rest.substr(plus + 1))) {
            pattern.line_kind = Relative;
            pattern.line = pattern.line_end = *offset;
            rest = rest.substr(0, plus);
        }
    }
    pattern.file = rest;
    if (pattern.file.empty())
        return Error("the file's name is missing after `@`");
    return pattern;
}

// In `f@file.c:3,7-9`, the part up to the colon applies to each line and range.
Result<std::vector<FunctionPattern>> FunctionPattern::parse_list(std::string_view text) {
    size_t at = text.find('@'), colon = text.rfind(':'), begin = 0;
    std::string_view before;
    if (at != std::string_view::npos && colon != std::string_view::npos && colon > at) {
        before = text.substr(0, colon + 1);
        begin = colon + 1;
    }
    std::vector<FunctionPattern> patterns;
    for (size_t end = 0; end < text.size(); begin = end + 1) {
        end = before.empty() ? text.size() : std::min(text.find(',', begin), text.size());
        Result<FunctionPattern> pattern = parse(std::string(before) + std::string(text.substr(begin, end - begin)));
        if (!pattern)
            return std::move(pattern).error();
        patterns.push_back(*std::move(pattern));
    }
    if (patterns.empty())
        return parse(text).error();
    return patterns;
}

bool file_matches(const std::string& pattern, std::string_view path) {
    if (pattern.empty() || pattern == "*")
        return true;
    if (!has_wildcard(pattern)) {
        if (!path.ends_with(pattern))
            return false;
        return path.size() == pattern.size() || path[path.size() - pattern.size() - 1] == '/';
    }
    // With wildcards, try the whole path and the part after each `/`.
    for (size_t at = 0; at != std::string::npos;) {
        if (glob_match(pattern, path.substr(at)))
            return true;
        at = path.find('/', at);
        at = at == std::string::npos ? at : at + 1;
    }
    return false;
}

} // namespace sonde
