// Parts of messages about missing debug information.
#pragma once

#include "base/diag.h"
#include "frontend/dwarf/dwarf_module.h"

namespace sonde {

// Returns advice on how to build a program with debug information, for Go or for other languages.
const char* debug_information_advice(bool is_go);
// Adds a note for each problem that sonde had with the module's debug information.
void add_debug_problems(DiagBuilder report, const DwarfModule& module);

} // namespace sonde
