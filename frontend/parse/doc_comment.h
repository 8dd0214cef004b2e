// The comment above a declaration, which documents it.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// The comment that ends on the line above the declaration, without its signs, a newline after each line; empty where
// there is none or the declaration does not begin its line. `above` is the text up to the declaration.
std::string doc_above(std::string_view above);

} // namespace sonde
