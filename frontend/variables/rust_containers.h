// Containers of Rust's library that are not contiguous in memory, as text. The functions return false and add nothing
// if the type does not have the layout of a known version.
#pragma once

#include "frontend/variables/pretty.h"

namespace sonde {

// The first pointer inside of a value, depth first. A `Vec<T>` has it in `buf.inner.ptr.pointer.pointer` or a similar
// chain of structures, depending on the version.
std::optional<Place> first_pointer(Binding& b, const Place& place, int depth = 0);

bool add_rust_deque(Binding& b, Text& text, const Place& place, Level level);
bool add_rust_list(Binding& b, Text& text, const Place& place, Level level);
bool add_rust_hash(Binding& b, Text& text, const Place& place, bool is_map, Level level);
bool add_rust_tree(Binding& b, Text& text, const Place& place, bool is_map, Level level);

} // namespace sonde
