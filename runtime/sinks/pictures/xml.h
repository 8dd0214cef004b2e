// Text in SVG and HTML files.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Escapes `<`, `>`, `&` and quotes. Replaces invalid UTF-8 and control characters by U+FFFD, because XML does not allow
// them. Keeps newlines and tabs.
std::string xml_escaped(std::string_view text);

} // namespace sonde
