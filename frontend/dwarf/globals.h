// Global and file-scope static variables of all units. Nothing is cached except the indices of the units.
#pragma once

#include <string>
#include <vector>

#include "frontend/dwarf/unit_index.h"

namespace sonde {

// Returns the name with namespaces and class. A definition outside of these takes them from its declaration.
std::string qualified_global(UnitIndex& units, Dwarf_Die& die);

// Finds the definition of a declared global, in the unit `first` (may be null) or else in another one. Returns false if
// no unit defines it.
bool find_global(UnitIndex& units, Dwarf_Die& declaration, Unit* first, Dwarf_Die* die);

// Whether "x", "ns::x" or "C::x" is the name of a unit's variable; `plain` is `name` without scopes.
bool is_global_named(UnitIndex& units, Unit& unit, const NamedEntry& entry, Dwarf_Die& die, std::string_view plain,
                     std::string_view name);

// Returns all names, sorted without duplicates.
std::vector<std::string> global_names(UnitIndex& units);

} // namespace sonde
