// Finds the functions at an address in the debug information of a file: the one that contains the address, and those
// that are inlined there. Reads only the compilation units that contain the addresses.
#pragma once

#include <dwarf.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/debug/die.h"
#include "runtime/symbols/debug_info.h"

namespace sonde {

constexpr int deepest_scope = 64; // nesting limit against damaged files

// Whether a DIE in a function can contain inlined functions.
bool is_scope(int tag);
// Whether a DIE can contain functions, besides the unit itself.
bool holds_functions(int tag);

// Calls `visit` for each function DIE of a unit.
template <typename Visit> void for_each_function(Dwarf_Die& parent, int depth, Visit& visit) {
    for_each_child(parent, [&](Dwarf_Die& child) {
        int tag = dwarf_tag(&child);
        if (tag == DW_TAG_subprogram)
            visit(child);
        else if (holds_functions(tag) && depth < deepest_scope)
            for_each_function(child, depth + 1, visit);
        return true;
    });
}

// Calls `visit` for each compilation unit of the file.
template <typename Visit> void for_each_compile_unit(Dwarf* dwarf, Visit visit) {
    for_each_unit(dwarf, [&](Dwarf_Die& unit, uint8_t type) {
        if (type == DW_UT_compile)
            visit(unit);
    });
}

// Calls `add` with the bounds of each non-empty address range of a DIE.
template <typename Add> void add_ranges(Dwarf_Die& die, Add add) {
    for_each_range(die, [&](uint64_t low, uint64_t high) {
        if (low < high)
            add(low, high);
        return true;
    });
}

struct FunctionScopes : DebugInfo {
    // Returns the unit that contains an address as linked.
    std::optional<Dwarf_Die> unit_at(uint64_t address);
    // Returns the functions at the address: the one that contains it, then those that are inlined there, innermost
    // last. Empty if none is known.
    std::vector<Dwarf_Die> functions_at(Dwarf_Die unit, uint64_t address);

  private:
    struct Range {
        uint64_t low, high;
        Dwarf_Die die;
    };
    static const Dwarf_Die* covering(const std::vector<Range>& ranges, uint64_t address);

    std::optional<std::vector<Range>> units_;                          // filled if the file has no .debug_aranges
    std::unordered_map<Dwarf_Off, std::vector<Range>> unit_functions_; // by unit
};

} // namespace sonde
