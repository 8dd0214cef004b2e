// The blanks between two pieces in one line.
#pragma once

#include <cstddef>
#include <vector>

#include "frontend/formatter/pieces.h"
#include "frontend/formatter/structure.h"

namespace sonde {

// Returns the number of blanks before the piece, which is not the first one in its line. `structure`: before the piece
// is taken.
size_t count_spaces(const std::vector<Piece>& pieces, size_t piece, const Structure& structure);

} // namespace sonde
