// How instructions use the second register in which functions return integers. AnalyzedInstruction has the same for the
// first one.
#pragma once

#include <string_view>

#include "arch/instruction.h"

namespace sonde {

// For the first instruction of `code`, which is of a 64-bit program. Returns End if the instruction is unknown.
ResultUse use_of_second_result(std::string_view code);

} // namespace sonde
