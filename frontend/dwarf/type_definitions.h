// Type definitions of all units by name: where a declaration's definition is, and what a name that a script writes
// means.
//
// Made when somebody asks, from the index of every unit (unit.h): the first question scans all of a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "frontend/dwarf/unit_index.h"

namespace sonde {

class TypeDefinitions {
  public:
    explicit TypeDefinitions(UnitIndex& units) : units_(units) {}

    // The definition of a declared record or enumeration, of the same scope; false if there is none. The same unit's
    // is preferred.
    bool find(Dwarf_Die& declaration, Dwarf_Die* definition);
    // The namespaces and classes around a type, as "std::__cxx11::".
    std::string scope_of(Dwarf_Die& type);

    // Calls `visit(unit, entry)` for each definition whose own name, without a scope, is that.
    template <typename Visit> void for_each_named(std::string_view name, Visit visit) {
        index();
        auto [first, last] = by_name_.equal_range(name);
        for (auto entry = first; entry != last; ++entry)
            visit(*entry->second.first, entry->second.first->types[entry->second.second]);
    }

    void forget();

  private:
    void index();

    UnitIndex& units_;
    bool indexed_ = false;
    std::unordered_multimap<std::string_view, std::pair<Unit*, uint32_t>> by_name_; // in the unit's `types`
};

} // namespace sonde
