// Globals and statics at file scope, in all units. Nothing is kept but the units' own index.
#pragma once

#include <string>
#include <vector>

#include "frontend/dwarf/unit_index.h"

namespace sonde {

// The name with its namespaces and class; a definition outside of them takes them from its declaration.
std::string qualified_global(UnitIndex& units, Dwarf_Die& die);

// The definition of a declared global, in the unit `first` (may be null) or else another one; false if no unit defines
// it.
bool find_global(UnitIndex& units, Dwarf_Die& declaration, Unit* first, Dwarf_Die* die);

// Whether "x", "ns::x" or "C::x" means a unit's variable of that plain name.
bool is_global_named(UnitIndex& units, Unit& unit, const NamedEntry& entry, Dwarf_Die& die, std::string_view plain,
                     std::string_view name);

// Sorted, unique.
std::vector<std::string> global_names(UnitIndex& units);

} // namespace sonde
