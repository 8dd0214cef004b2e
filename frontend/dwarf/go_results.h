// Locations of the arguments and results of Go functions. They follow from Go's calling convention, not from the debug
// information ("Go internal ABI specification", src/cmd/compile/abi-internal.md, since Go 1.17).
#pragma once

#include "arch/architecture.h"
#include "frontend/dwarf/module_data.h"

namespace sonde {

class UnitIndex;
class Variables;

// Returns a parameter's location at the function's first instruction.
Location go_argument_location(const Architecture& architecture, UnitIndex& units, Variables& variables,
                              const FunctionInstance& function, const Variable& argument);
// Returns a result's location at the function's return instructions.
Location go_result_location(const Architecture& architecture, UnitIndex& units, Variables& variables,
                            const FunctionInstance& function, const Variable& result);

// Corrects the offsets of a value's pieces. Go's compilers omit the padding between members, or describe too much of it
// (Go 1.19: always the former in optimized code, the latter with -N). Returns Unavailable if the pieces do not fit the
// type.
Location with_go_padding(Location location, const Type* type);

} // namespace sonde
