// Functions that all pictures share: fitting text, colors of names, and the HTML page around an SVG image.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sonde {

// Returns a number for choosing a color. Equal names have equal numbers in all pictures.
size_t shade_of(std::string_view name);

// Returns the text if it fits into `width` pixels with letters of `letter_width` pixels; else its beginning and `..`.
// Returns "" if less than three letters fit.
std::string fitted(std::string_view text, double width, double letter_width);

// Returns an HTML page with one image. A script in the image must come from svg_script().
std::string html_page(std::string_view title, std::string svg);
// Returns a script element for the end of an SVG image.
std::string svg_script(std::string_view script);

} // namespace sonde
