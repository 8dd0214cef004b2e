// Where Go's functions take arguments and leave results: debug information does not say it, but Go's calling convention
// does ("Go internal ABI specification", src/cmd/compile/abi-internal.md, since Go 1.17).
#pragma once

#include "frontend/dwarf/module_data.h"

namespace sonde {

class UnitIndex;
class Variables;

// A parameter, at the function's first instruction.
Location go_argument_location(UnitIndex& units, Variables& variables, const FunctionInstance& function,
                              const Variable& argument);
// A result, at the function's return instructions.
Location go_result_location(UnitIndex& units, Variables& variables, const FunctionInstance& function,
                            const Variable& result);

} // namespace sonde
