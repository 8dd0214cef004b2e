// Formats of printf(): `%[{NAME}][flag][width][.precision][l]conversion`. There is at most one flag: `0`, `+`, `-`,
// space or `#`. NAME is the name of the value in output for programs, instead of the argument's source text.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/plan/records.h"

namespace sonde {

// On error, the message names the wrong directive and a correct form, and `*bad` (if not null) becomes the offset of
// the directive's `%`.
Result<std::vector<plan::Directive>> parse_format(std::string_view format, size_t* bad = nullptr);

} // namespace sonde
