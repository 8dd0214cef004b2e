// What messages say of debug information that is not there.
#pragma once

#include "base/diag.h"
#include "frontend/dwarf/dwarf_module.h"

namespace sonde {

// How a program gets the debug information that it lacks, by its language.
const char* debug_information_advice(bool is_go);
// Adds what stood in the way of the module's debug information.
void add_debug_problems(DiagBuilder report, const DwarfModule& module);

} // namespace sonde
