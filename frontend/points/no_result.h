// Messages about a function's result at a tail call: the function ends with a jump to another function, which computes
// the result.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "frontend/points/resolved_point.h"

namespace sonde {

// `what` is the expression as written in the script: "$return".
inline std::string why_no_result(const ResolvedPoint& point, std::string_view what) {
    return fmt::format("`{}` is not known where `{}` jumps to another function at {:#x}: that function returns in its "
                       "place",
                       what, point.function.name, point.address);
}

constexpr const char* no_result_advice =
    "test `@defined($return)` before you read the result, or probe the functions that it jumps to; --attach=uretprobe "
    "reads the result, but changes the program's stack";

} // namespace sonde
