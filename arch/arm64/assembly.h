// Operands of arm64 instructions in the syntax of the GNU assembler: `5`, `x0`, `[sp, 72]`.
#pragma once

#include "arch/operand.h"

namespace sonde::arm64 {

AssemblyOperand parse_operand(std::string_view text, const FindSymbol& symbol);

} // namespace sonde::arm64
