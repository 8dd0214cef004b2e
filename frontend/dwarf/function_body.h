// Finds the body of a function: the first address after its prologue at which the parameters can be read.
//
// In unoptimized code, parameters are in the frame, where the prologue stores them. A probe at the first instruction
// would read garbage from there. The body begins at the address that the compiler has marked as the end of the prologue
// (DWARF 5, section 6.2.2). Without such a mark, it begins at the second row of the function's line table, as debuggers
// assume. If the function begins with a loop, this place is reached in each iteration: see runs_once().
#pragma once

#include <elfutils/libdw.h>

#include "arch/registers.h"
#include "frontend/dwarf/line_tables.h"
#include "frontend/machine/address.h"

namespace sonde {

class ProgramFile;

// Returns the address of the body; this is `entry` if the code is optimized. `high` is the end of the code that begins
// at `entry`.
Address find_body(const RegisterFile& registers, LineTables& lines, Unit& unit, Dwarf_Die& function, Address entry,
                  Address high);

// Returns false if a call can reach `body` more than once, or can return before it.
bool runs_once(const ProgramFile& file, Address entry, Address body, Address high);

// Whether the first instructions of the function or the inlined copy store the parameters in the frame, where the debug
// information says that they always are.
bool keeps_parameters_in_frame(const RegisterFile& registers, Dwarf_Die& function);

// Whether the function has at least one parameter.
bool has_parameters(Dwarf_Die& function);

} // namespace sonde
