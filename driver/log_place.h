// Finds the place of `sonde log` in a program: a line or a function of a source file.
#pragma once

#include <string>

#include "base/result.h"
#include "driver/tool_point.h"

namespace sonde {

// Returns the probe point for `FILE:LINE`, `FUNCTION` or `FILE:FUNCTION`. The place is searched in target.program, or
// in the target and its libraries, or in the programs that are running. If the line has no code, the next one that has
// code is used, with a warning. Also warns if the source file is newer than the program. Errors: no program has the
// place, or several running ones have it.
Result<std::string> expand_place(const std::string& written, const PointTarget& target);

} // namespace sonde
