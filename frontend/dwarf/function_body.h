// Where a function's parameters are right: after its prologue, if that has to store them first.
//
// Parameters of unoptimised code live in the frame and are stored there by the prologue, so a probe on the first
// instruction would read garbage. The body begins at the address that the compiler marked as the end of the prologue
// (DWARF 5, section 6.2.2) or, where it marks none, at the second row of the function's line table, as debuggers do.
// Where the function's first statement is a loop, that place is run once per round.
#pragma once

#include <elfutils/libdw.h>

#include "frontend/dwarf/line_tables.h"
#include "frontend/types/address.h"

namespace sonde {

class ProgramFile;

// `high`: where the code that begins at `entry` ends. `entry` itself if the code is optimised.
Address find_body(LineTables& lines, Unit& unit, Dwarf_Die& function, Address entry, Address high);

// False if a call may run the code at `body`, after the prologue, more than once, or may leave before it.
bool runs_once(const ProgramFile& file, Address entry, Address body, Address high);

bool has_parameters(Dwarf_Die& function);

} // namespace sonde
