// Debugging information entries (DIEs) as libdw gives them: children, units, ranges and attributes.
//
// Two readers stand on this: the compiler's (frontend/dwarf) and the one that names addresses while a script runs
// (runtime/symbols). Nothing is kept here; each step costs what libdw's step costs. Terms: DWARF 5, chapter 2.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>

namespace sonde {

// Debug information is input like any other: chains of references and nested scopes end here.
constexpr int max_die_depth = 256;

// Calls `visit(child)` for each child; stops when it returns false. Bounded.
template <typename Visit> void for_each_child(Dwarf_Die& die, Visit visit) {
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0)
        return;
    // Siblings only ever move forward inside a unit, so the number of steps is bounded by its size; libdw checks that.
    do {
        if (!visit(child))
            return;
    } while (dwarf_siblingof(&child, &child) == 0);
}

// The same for a function's DIE: what gcc puts into a DIE of its own for a parameter pack of C++ comes in its place.
template <typename Visit> void for_each_child_of_function(Dwarf_Die& function, Visit visit) {
    for_each_child(function, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) != DW_TAG_GNU_formal_parameter_pack)
            return visit(child);
        bool more = true;
        for_each_child(child, [&](Dwarf_Die& packed) { return more = visit(packed); });
        return more;
    });
}

// Calls `visit(low, high)` for each of the DIE's ranges of addresses, empty ones too; stops when it returns false.
template <typename Visit> void for_each_range(Dwarf_Die& die, Visit visit) {
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
        if (!visit(low, high))
            return;
}

// Calls `visit(die, type)` for each unit of the file, in its order; `type` is DW_UT_*. A split unit's skeleton stands
// for it.
template <typename Visit> void for_each_unit(Dwarf* dwarf, Visit visit) {
    Dwarf_CU* unit = nullptr;
    Dwarf_CU* next = nullptr;
    Dwarf_Die die;
    uint8_t type = 0;
    while (dwarf_get_units(dwarf, unit, &next, nullptr, &type, &die, nullptr) == 0 && next != unit) {
        unit = next;
        visit(die, type);
    }
}

// An attribute's value as a flag, number or string; false/nullopt/null when missing or of another class. Follows
// abstract origins and specifications.
bool flag_attribute(Dwarf_Die& die, unsigned name);
// Of all that a definition has from its declaration (DW_AT_specification), that it is one is not its own.
bool is_declaration(Dwarf_Die& die);
std::optional<uint64_t> number_attribute(Dwarf_Die& die, unsigned name);
const char* string_attribute(Dwarf_Die& die, unsigned name);
// The mangled name, by either attribute; null without one.
const char* linkage_name(Dwarf_Die& die);

// The source file of a declaration, empty if unknown.
const char* declaration_file(Dwarf_Die& die);

} // namespace sonde
