// Texts in SVG and HTML files.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// With what the language of the file has for `<`, `&` and their like. What is not UTF-8, or a control character,
// becomes U+FFFD: XML has no place for it.
std::string xml_escaped(std::string_view text);

} // namespace sonde
