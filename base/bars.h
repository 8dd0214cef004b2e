// Bars of Unicode's block elements (U+2581 to U+2588), for terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace sonde {

// A horizontal bar with a length in eighths of a character.
std::string bar_of_eighths(uint64_t eighths);
// A horizontal bar that fills `part` (0 to 1) of `width` characters. Has no blanks at its end.
std::string bar_text(double part, size_t width);
// A vertical bar that fills `part` (0 to 1) of a character's height; a blank for 0.
std::string_view standing_bar(double part);
// A row of vertical bars for the last `width` numbers, with eight heights. The largest number has full height; 0 is a
// blank.
std::string sparkline(const std::deque<double>& numbers, size_t width);

} // namespace sonde
