// How many columns of a terminal characters take.
#pragma once

#include <cstddef>

namespace sonde {

// 0 of a mark that stands on the character before it, 2 of most Chinese, Japanese and Korean characters and of
// pictographs, else 1. The character is one that is shown.
size_t character_width(char32_t character);

} // namespace sonde
