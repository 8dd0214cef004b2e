// Bars of block characters (Unicode's block elements, U+2581 to U+2588), for terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace sonde {

// A bar of so many eighths of a character.
std::string bar_of_eighths(uint64_t eighths);
// One that is `part` (0 to 1) of `width` characters. Without blanks after it.
std::string bar_text(double part, size_t width);
// A bar that stands, `part` (0 to 1) of a character high; a blank for 0.
std::string_view standing_bar(double part);
// Numbers as a row of bars of eight heights, the last `width` of them; the largest of these is full, 0 is a blank.
std::string sparkline(const std::deque<double>& numbers, size_t width);

} // namespace sonde
