// The blocks of a function around an address.
#pragma once

#include <vector>

#include <elfutils/libdw.h>

#include "frontend/dwarf/unit.h"

namespace sonde {

// From the innermost block around the address to the function; empty if the function's DIE cannot be read.
std::vector<Dwarf_Die> scopes_around(FunctionRef function, Address address);

// The function, `innermost` or one around it, that `die`, a variable, belongs to.
FunctionRef owner_of(Dwarf_Die& die, FunctionRef innermost);

} // namespace sonde
