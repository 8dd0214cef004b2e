#include "base/suggestion_text.h"

#include <fmt/format.h>

namespace sonde {
namespace {

constexpr std::string_view before = "did you mean `", after = "`?";

} // namespace

std::string suggestion_text(std::string_view nearest) { return fmt::format("{}{}{}", before, nearest, after); }

std::optional<std::string> suggested_name(std::string_view help) {
    if (!help.starts_with(before) || !help.ends_with(after) || help.size() <= before.size() + after.size())
        return std::nullopt;
    const std::string_view name = help.substr(before.size(), help.size() - before.size() - after.size());
    return name.find('`') == std::string_view::npos ? std::optional(std::string(name)) : std::nullopt;
}

} // namespace sonde
