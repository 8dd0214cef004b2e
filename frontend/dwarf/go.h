// Functions that Go's compiler has generated: their names, their beginnings, and the types of Go's runtime.
//
// Two things differ from C:
//
// * A function begins with a check whether its stack is large enough. If not, or if another goroutine should run, it
//   calls the runtime and then starts again at its first instruction. A probe there would be hit twice. So the probe is
//   at the check's conditional jump, and a hit counts only if the jump is not taken. (The instruction after the jump
//   would do as well, but the kernel emulates jumps and single-steps most others.)
// * The runtime can move the stack of a running function, so a return address must not be changed. Return probes are at
//   the return instructions.
//
// The debug information has the locations of arguments at the jump; for results at the return see go_results.h.
#pragma once

#include <string_view>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class ElfFile;
class ProgramFile;
class TypeReader;

// Whether the pattern matches a Go function with that name.
bool go_name_matches(std::string_view pattern, std::string_view name);

// Finds the stack check of the function whose code ends at `high`, and sets checks_stack and `body`.
void find_stack_check(const ProgramFile& file, FunctionInstance& function, Address high);

// Returns the type runtime.g, as goid() needs it, for a program without debug information. Returns null for other names
// or if the type is unknown.
const Type* go_runtime_type(const ElfFile& file, std::string_view name, TypeReader& types);

} // namespace sonde
