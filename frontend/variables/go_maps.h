// Go's maps as text.
#pragma once

#include "frontend/variables/pretty.h"

namespace sonde {

// Whether the type is the record to which a variable of a map's type points.
bool is_go_map(const Type* type);
// `{key=value}`, or `{key}` for a map[K]struct{}. Returns false and adds nothing if the layout is unknown.
bool add_go_map(Binding& b, Text& text, const Place& map, Level level);

} // namespace sonde
