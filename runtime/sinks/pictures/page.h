// What pictures have in common: texts that fit, colours of names, and the page around an SVG image.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde {

// The same name has the same number in every picture, so that it has the same colour.
size_t shade_of(std::string_view name);

// The text, or its beginning with `..`, as far as `width` pixels have room for letters of `letter_width`; empty: too
// few to read.
std::string fitted(std::string_view text, double width, double letter_width);

// An HTML page that shows one image. A script in it is one that svg_script() has made.
std::string html_page(std::string_view title, std::string svg);
// A script at the end of an SVG image.
std::string svg_script(std::string_view script);

} // namespace sonde
