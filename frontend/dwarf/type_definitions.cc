// A program has many declarations of a type (`struct file;`) and few definitions. Reading a member through a pointer to
// a declared type needs the definition, which is often in another unit. The index maps names to all definitions.
//
// C allows two different types with the same name in two files, and then the definition of the declaring unit is the
// right one. In C++ the scopes must agree, too: `a::node` and `b::node` are different types.
#include "frontend/dwarf/type_definitions.h"

#include <algorithm>

#include <dwarf.h>

namespace sonde {

// Declarations are not indexed: nobody searches for them.
void TypeDefinitions::index() {
    if (indexed_)
        return;
    indexed_ = true;
    units_.for_each_with_types([&](Unit& unit) {
        scan(unit);
        for (uint32_t i = 0; i < unit.types.size(); i++)
            if (!unit.types[i].declaration)
                by_name_.emplace(unit.types[i].name, std::pair(&unit, i));
    });
}

bool TypeDefinitions::find(Dwarf_Die& declaration, Dwarf_Die* definition) {
    const char* name = dwarf_diename(&declaration);
    if (!name)
        return false;
    index();
    // In C++, the scopes must agree as well.
    Unit* own = units_.unit_of(declaration);
    std::string prefix = scope_of(declaration);
    bool is_enum = dwarf_tag(&declaration) == DW_TAG_enumeration_type;
    bool is_union = dwarf_tag(&declaration) == DW_TAG_union_type;
    const std::pair<Unit*, uint32_t>* best = nullptr;
    auto [first, last] = by_name_.equal_range(name);
    for (auto entry = first; entry != last; ++entry) {
        const NamedEntry& type = entry->second.first->types[entry->second.second];
        if (type.local || type.tag == DW_TAG_typedef || type.tag == DW_TAG_base_type ||
            (type.tag == DW_TAG_enumeration_type) != is_enum || (type.tag == DW_TAG_union_type) != is_union ||
            scope_prefix(*entry->second.first, type.scope) != prefix)
            continue;
        // Prefer the same unit; otherwise the first definition in the file, so that the result is deterministic.
        bool better = !best || (entry->second.first == own && best->first != own) ||
                      (best->first != own && entry->second.first->begin < best->first->begin);
        if (better)
            best = &entry->second;
    }
    return best && die_at(*best->first, best->first->types[best->second].offset, definition);
}

std::string TypeDefinitions::scope_of(Dwarf_Die& die) {
    Dwarf_Die declaration = declaration_of(die);
    Dwarf_Off offset = dwarf_dieoffset(&declaration);
    Unit* unit = units_.unit_of(declaration);
    if (!unit)
        return scope_prefix(declaration);
    scan(*unit);
    auto entry = std::lower_bound(unit->types.begin(), unit->types.end(), offset,
                                  [](const NamedEntry& one, Dwarf_Off value) { return one.offset < value; });
    bool found = entry != unit->types.end() && entry->offset == offset;
    return found ? scope_prefix(*unit, entry->scope) : scope_prefix(declaration);
}

void TypeDefinitions::forget() {
    by_name_.clear();
    indexed_ = false;
}

} // namespace sonde
