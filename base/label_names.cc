// Names for the parts of an array's key. The names become labels in Prometheus' format, so its rules apply to all
// outputs.
#include "base/label_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace sonde {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Prometheus allows letters, digits and _, but no digit at the beginning. It reserves names that begin with __.
bool is_label(const std::string& name) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto is_good = [&](char c) {
        return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    return !name.empty() && std::ranges::all_of(name, is_good) && !is_digit(name[0]) && !name.starts_with("__");
}

} // namespace

std::vector<std::string> split_label_names(std::string_view list) {
    std::vector<std::string> out;
    for (;;) {
        const size_t comma = std::min(list.find(','), list.size());
        out.emplace_back(trimmed(list.substr(0, comma)));
        if (comma == list.size())
            return out;
        list.remove_prefix(comma + 1);
    }
}

std::string why_no_labels(const std::string& array, size_t keys, const std::vector<std::string>& names) {
    if (keys == 0)
        return fmt::format("`{}` is not an array", array);
    if (names.size() != keys)
        return fmt::format("the key of `{}` has {} part{}, but {} name{} given", array, keys, keys == 1 ? "" : "s",
                           names.size(), names.size() == 1 ? " is" : "s are");
    for (const std::string& name : names)
        if (!is_label(name))
            return fmt::format(
                "`{}` is not a label: use letters, digits and _, and do not begin with a digit or with __", name);
    return "";
}

} // namespace sonde
