// The blocks of a function around an address.
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

} // namespace sonde
