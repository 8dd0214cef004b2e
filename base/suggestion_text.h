// The help "did you mean `x`?", and the name in it. An editor offers the name as a correction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sonde {

std::string suggestion_text(std::string_view nearest);
// Returns the name in such a help; nullopt for other helps.
std::optional<std::string> suggested_name(std::string_view help);

} // namespace sonde
