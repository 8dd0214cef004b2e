// A global has one definition and any number of declarations (`extern int x;` in a header, a static member in a class).
// Each of them has a DIE, and only the definition has an address. The definition often has no name of its own: it
// refers to the declaration by DW_AT_specification, and may lie outside of the declaration's namespace.
//
// Two static variables in different files can have the same name. They are different variables, so a definition in
// another unit counts only if it is external.
#include "frontend/dwarf/globals.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/debug/die.h"

namespace sonde {
namespace {

// "C::x" also finds "ns::C::x".
bool ends_in_name(std::string_view qualified, std::string_view name) {
    return qualified.ends_with(name) &&
           (qualified.size() == name.size() || qualified.substr(0, qualified.size() - name.size()).ends_with("::"));
}

// Users may omit anonymous namespaces, because these have no name in the source.
std::string without_anonymous(std::string name) {
    constexpr std::string_view part = "(anonymous namespace)::";
    for (size_t at; (at = name.find(part)) != std::string::npos;)
        name.erase(at, part.size());
    return name;
}

// Returns the entry for a variable's DIE in the index of its unit, or null.
const NamedEntry* entry_of(UnitIndex& units, Dwarf_Die& die, Unit** unit) {
    *unit = units.unit_of(die);
    if (!*unit)
        return nullptr;
    scan(**unit);
    const std::vector<NamedEntry>& all = (*unit)->variables;
    auto entry = std::ranges::lower_bound(all, dwarf_dieoffset(&die), {}, &NamedEntry::offset);
    return entry != all.end() && entry->offset == dwarf_dieoffset(&die) ? &*entry : nullptr;
}

} // namespace

std::string qualified_global(UnitIndex& units, Dwarf_Die& die) {
    const char* name = dwarf_diename(&die);
    if (!name)
        return "";
    Dwarf_Die declaration = declaration_of(die);
    Unit* unit = nullptr;
    if (const NamedEntry* entry = entry_of(units, declaration, &unit))
        return scope_prefix(*unit, entry->scope) + name;
    // Before DWARF 5, a static member of a class is a DW_TAG_member.
    return scope_prefix(declaration) + name;
}

// Example: `extern int count;` in a function of a.c declares the variable, and `int count = 5;` in b.c defines it. Only
// the definition has the address. The search begins in the unit `first`, because most definitions are there.
bool find_global(UnitIndex& units, Dwarf_Die& declaration, Unit* first, Dwarf_Die* die) {
    const char* name = dwarf_diename(&declaration);
    if (!name)
        return false;
    std::string qualified = qualified_global(units, declaration);
    std::optional<Dwarf_Die> undescribed;
    auto find_in = [&](Unit& unit) {
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            // A definition without a name refers to a declaration in a namespace or class.
            if (entry.declaration || (entry.name && strcmp(entry.name, name) != 0))
                continue;
            Dwarf_Die candidate;
            if (!dwarf_offdie(unit.dwarf, entry.offset, &candidate))
                continue;
            const char* candidate_name = entry.name ? entry.name : dwarf_diename(&candidate);
            if (!candidate_name || strcmp(candidate_name, name) != 0 || qualified_global(units, candidate) != qualified)
                continue;
            // In another unit, only an external definition can be the right one.
            const bool is_external = flag_attribute(candidate, DW_AT_external);
            if (&unit != first && !is_external)
                continue;
            // Thread-local variables may have no location (see Locations).
            if (!dwarf_hasattr_integrate(&candidate, DW_AT_location)) {
                if (is_external)
                    undescribed = candidate;
                continue;
            }
            *die = candidate;
            return true;
        }
        return false;
    };
    if (first && find_in(*first))
        return true;
    for (Unit& unit : units.all())
        if (&unit != first && find_in(unit))
            return true;
    if (undescribed)
        *die = *undescribed;
    return undescribed.has_value();
}

bool is_global_named(UnitIndex& units, Unit& unit, const NamedEntry& entry, Dwarf_Die& die, std::string_view plain,
                     std::string_view name) {
    std::string_view last = last_component(name);
    if (plain != last)
        return false;
    if (last.size() == name.size() || qualified_matches(unit, entry.scope, plain, name))
        return true;
    // gcc places the definition of a variable in a namespace outside of the namespace.
    Dwarf_Die declaration = declaration_of(die);
    Unit* declaring = nullptr;
    if (const NamedEntry* declared = entry_of(units, declaration, &declaring);
        declared && qualified_matches(*declaring, declared->scope, plain, name))
        return true;
    std::string qualified = qualified_global(units, die);
    const std::string wanted = without_blanks(name);
    return ends_in_name(without_blanks(qualified), wanted) ||
           ends_in_name(without_blanks(without_anonymous(qualified)),
                        without_blanks(without_anonymous(std::string(name))));
}

std::vector<std::string> global_names(UnitIndex& units) {
    std::set<std::string> names;
    for (Unit& unit : units.all()) {
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            Dwarf_Die die;
            const char* name = entry.name;
            if (!name && dwarf_offdie(unit.dwarf, entry.offset, &die))
                name = dwarf_diename(&die);
            if (name && !entry.declaration)
                names.emplace(name);
        }
    }
    return {names.begin(), names.end()};
}

} // namespace sonde
