// Helps users who do not know yet what they can probe: lists all families of probe points (`-l '*'`), or searches for a
// word everywhere (`sonde tcp`, `sonde -l malloc -c ls`).
#pragma once

#include <string>

#include "driver/options.h"
#include "driver/translation.h"

namespace sonde {

// Returns whether the argument of -l asks for such a search, and not for the points that match a pattern.
bool is_discovery(Translation& t, const Options& options);
// Prints the families or the search results. Returns the exit status.
int discover(Translation& t, const Options& options);

} // namespace sonde
