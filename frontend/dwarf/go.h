// Functions that Go's compiler made: their names, where they begin, and what its runtime's types are.
//
// What differs from C: a function begins with a check of its stack, and goes back to its first instruction when the
// stack had to grow or another goroutine is to run. So a probe sits at the check's jump, and counts only if that is not
// taken: the kernel emulates a jump, where it would single-step the instruction after it. Its stack may move while it
// runs, so a return address must not be replaced: a return probe is at the return instructions. Where arguments are
// at the jump, debug information says; where results are at the return, go_results.h.
#pragma once

#include <string_view>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class ElfFile;
class ProgramFile;
class TypeReader;

// Whether a pattern means a function of Go with that name.
bool go_name_matches(std::string_view pattern, std::string_view name);

// Sets where the function, whose code ends at `high`, checks its stack, and its `body`.
void find_stack_check(const ProgramFile& file, FunctionInstance& function, Address high);

// runtime.g, as goid() needs it, of a program without debug information; null: it is not known, or another name.
const Type* go_runtime_type(const ElfFile& file, std::string_view name, TypeReader& types);

} // namespace sonde
