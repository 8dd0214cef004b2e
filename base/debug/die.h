// Reads debugging information entries (DIEs) through libdw: children, units, ranges and attributes.
//
// Two readers use this: the compiler's (frontend/dwarf), and the runtime's, which finds symbols for addresses
// (runtime/symbols). Nothing is cached here, so each step has the cost of libdw's step. For terms see DWARF 5, chapter
// 2.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>

namespace sonde {

// Limit for chains of references and for nested scopes, because debug information can be corrupt.
constexpr int max_die_depth = 256;

// Calls `visit(child)` for each child until it returns false. Always terminates.
template <typename Visit> void for_each_child(Dwarf_Die& die, Visit visit) {
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0)
        return;
    // Siblings are always later in the unit (libdw checks this), so the unit's size limits the number of steps.
    do {
        if (!visit(child))
            return;
    } while (dwarf_siblingof(&child, &child) == 0);
}

// The same for the DIE of a function. If gcc has put parameters of a C++ parameter pack into a DIE of their own, visits
// them in its place.
template <typename Visit> void for_each_child_of_function(Dwarf_Die& function, Visit visit) {
    for_each_child(function, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) != DW_TAG_GNU_formal_parameter_pack)
            return visit(child);
        bool more = true;
        for_each_child(child, [&](Dwarf_Die& packed) { return more = visit(packed); });
        return more;
    });
}

// Calls `visit(low, high)` for each range of addresses of the DIE, including empty ones, until it returns false.
template <typename Visit> void for_each_range(Dwarf_Die& die, Visit visit) {
    Dwarf_Addr base = 0, low = 0, high = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
        if (!visit(low, high))
            return;
}

// Calls `visit(die, type)` for each unit of the file in order; `type` is DW_UT_*. A split unit is represented by its
// skeleton.
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

// The value of an attribute as flag, number or string. If it is missing or has another class: false, nullopt or null.
// Follows abstract origins and specifications.
bool flag_attribute(Dwarf_Die& die, unsigned name);
// Whether the DIE itself is a declaration. A definition does not inherit this from its declaration
// (DW_AT_specification).
bool is_declaration(Dwarf_Die& die);
std::optional<uint64_t> number_attribute(Dwarf_Die& die, unsigned name);
const char* string_attribute(Dwarf_Die& die, unsigned name);
// The mangled name (from either attribute), or null.
const char* linkage_name(Dwarf_Die& die);

// The source file of a declaration; empty if unknown.
const char* declaration_file(Dwarf_Die& die);

} // namespace sonde
