// The comment above a declaration, which serves as its documentation.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Returns the comment that ends on the line above the declaration, without comment signs; each line ends in a newline.
// `above` is the source text up to the declaration. Returns "" without such a comment, or if other code precedes the
// declaration on its line.
std::string doc_above(std::string_view above);

} // namespace sonde
