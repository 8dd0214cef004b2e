#include "runtime/plan/recorded_points.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace sonde::plan {
namespace {

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Returns the position of the bracket that `text` closes with its last character; npos: there is none.
size_t find_opening(std::string_view text) {
    size_t depth = 0;
    for (size_t at = text.size(); at-- > 0;) {
        if (text[at] == '"')
            return std::string_view::npos; // a bracket can be in a literal
        if (text[at] == ')' || text[at] == ']')
            depth++;
        else if ((text[at] == '(' || text[at] == '[') && --depth == 0)
            return at;
    }
    return std::string_view::npos;
}

// Whether the text is a variable, possibly with members: `$a->b.c`, `n`. `@var("x")->y` is none.
bool is_path(std::string_view text) {
    if (text.starts_with('$'))
        text.remove_prefix(1);
    if (text.empty() || !is_name_char(text[0]) || std::isdigit(static_cast<unsigned char>(text[0])))
        return false;
    while (!text.empty()) {
        const bool is_arrow = text.starts_with("->") && text.size() > 2;
        if (!is_arrow && !is_name_char(text[0]) && text[0] != '.')
            return false;
        text.remove_prefix(is_arrow ? 2 : 1);
    }
    return true;
}

std::string short_name(std::string_view text) {
    while (text.ends_with('$'))
        text.remove_suffix(1);
    if (text.ends_with(')')) {
        const size_t open = find_opening(text);
        if (open == std::string_view::npos || open == 0)
            return "";
        const std::string_view function = text.substr(0, open), args = text.substr(open + 1, text.size() - open - 2);
        if (!std::ranges::all_of(function, [](char c) { return is_name_char(c) || c == '@'; }))
            return "";
        return args.empty() ? std::string(function) : short_name(args);
    }
    // Elements count as their arrays.
    std::string path;
    for (size_t at = 0; at < text.size(); at++) {
        if (text[at] != '[') {
            path += text[at];
            continue;
        }
        size_t depth = 0;
        for (; at < text.size(); at++) {
            depth += text[at] == '[';
            if (text[at] == ']' && --depth == 0)
                break;
        }
    }
    if (!is_path(path))
        return "";
    size_t begin = path.size();
    while (begin > 0 && is_name_char(path[begin - 1]))
        begin--;
    return path.substr(begin);
}

} // namespace

std::string short_name_of(const std::string& expression) { return short_name(expression); }

} // namespace sonde::plan
