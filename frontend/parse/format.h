// printf formats: `%[flag][width][.precision][l]conversion`, one flag of `0 + - space #` at most.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/plan.h"

namespace sonde {

// Errors: which directive is wrong and what would be right. `bad`, if given, then becomes the offset of its `%`.
Result<std::vector<plan::Directive>> parse_format(std::string_view format, size_t* bad = nullptr);

} // namespace sonde
