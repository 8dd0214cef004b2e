// Operands of x86 instructions in the syntax of the GNU assembler (AT&T): `$5`, `%rdi`, `8(%rbp)`.
#pragma once

#include "arch/operand.h"

namespace sonde::x86 {

// `word_size`: of an address, in bytes.
AssemblyOperand parse_operand(std::string_view text, const RegisterFile& registers, uint32_t word_size,
                              const FindSymbol& symbol);

} // namespace sonde::x86
