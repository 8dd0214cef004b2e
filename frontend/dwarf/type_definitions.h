// Type definitions of all units by name. Used to find the definition of a declared type, and the meaning of a name in a
// script.
//
// Built when first needed from the index of every unit (unit.h), so the first query scans the whole program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "frontend/dwarf/unit_index.h"

namespace sonde {

class TypeDefinitions {
  public:
    explicit TypeDefinitions(UnitIndex& units) : units_(units) {}

    // Finds the definition of a declared record or enumeration with the same scope, preferably in the same unit.
    // Returns false if there is none.
    bool find(Dwarf_Die& declaration, Dwarf_Die* definition);
    // Returns the namespaces and classes around a type, such as "std::__cxx11::".
    std::string scope_of(Dwarf_Die& type);

    // Calls `visit(unit, entry)` for each definition with that name (without a scope).
    template <typename Visit> void for_each_named(std::string_view name, Visit visit) {
        index();
        auto [first, last] = by_name_.equal_range(name);
        for (auto entry = first; entry != last; ++entry)
            visit(*entry->second.first, entry->second.first->types[entry->second.second]);
    }

    void forget();

  private:
    void index();
    // Returns the template arguments of a type and of the classes around it, if its name does not have them.
    std::string arguments_of(Dwarf_Die& type);
    std::string arguments_of(const Unit& unit, const NamedEntry& type);
    std::string text_of(Dwarf_Die type, int depth);
    std::string parameters_of(Dwarf_Die& type, int depth);

    UnitIndex& units_;
    bool indexed_ = false;
    std::unordered_multimap<std::string_view, std::pair<Unit*, uint32_t>> by_name_; // the index is that in Unit::types
    std::map<const NamedEntry*, std::string> arguments_;                            // of definitions
};

} // namespace sonde
