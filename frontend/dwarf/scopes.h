// The source that a DIE describes: the blocks of a function around an address, and the unit of the source.
#pragma once

#include <vector>

#include <elfutils/libdw.h>

#include "frontend/dwarf/unit.h"

namespace sonde {

// Returns the DIEs from the innermost block around the address to the function. Returns nothing if the function's DIE
// cannot be read.
std::vector<Dwarf_Die> scopes_around(FunctionRef function, Address address);

// Returns the function to which the variable `die` belongs: `innermost`, or one around it.
FunctionRef owner_of(Dwarf_Die& die, FunctionRef innermost);

// Returns the DIE that describes the source: that of the abstract function or variable, if there is one.
//
// After gcc's link-time optimization, one unit has the functions and variables of all sources. Only the units of their
// original DIEs show which function belongs to which source.
Dwarf_Die original(Dwarf_Die die);

} // namespace sonde
