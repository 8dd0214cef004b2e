// Finds the place of `sonde log` and `sonde snapshot` in a program: a line or a function of a source file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/tool_point.h"

namespace sonde {

// A place, and the names of the variables that are visible there.
struct FoundPlace {
    std::string point; // the probe point
    std::string name;  // FILE:LINE with the whole path, or the function as it was written
    std::vector<std::string> parameters;
    std::vector<std::string> locals;  // at a line; where a function begins, they have no values yet
    std::vector<std::string> logged;  // the variables of `{*}`: those that have a value here
    std::vector<std::string> omitted; // the others, which the compiler has optimized out here
    bool is_python = false;           // the names are not known
};

// Finds `FILE:LINE`, `FUNCTION` or `FILE:FUNCTION`. The place is searched in target.program, or in the target and its
// libraries, or in the programs that are running. If the line has no code, the next one that has code is used, with a
// warning. Also warns if the source file is newer than the program. Errors: no program has the place, or several
// running ones have it.
Result<FoundPlace> find_place(const std::string& written, const PointTarget& target);

} // namespace sonde
