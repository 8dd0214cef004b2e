// Containers of Rust's library that are not contiguous in memory. Functions that return false have added nothing,
// because the type does not have the layout of a known version.
#pragma once

#include "frontend/variables/pretty.h"

namespace sonde {

bool add_rust_list(Binding& b, Text& text, const Place& place, Level level);
bool add_rust_hash(Binding& b, Text& text, const Place& place, bool is_map, Level level);
bool add_rust_tree(Binding& b, Text& text, const Place& place, bool is_map, Level level);

} // namespace sonde
