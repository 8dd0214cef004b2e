#include "runtime/symbols/function_scopes.h"

namespace sonde {

bool is_scope(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

bool holds_functions(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
           tag == DW_TAG_class_type || tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

const Dwarf_Die* FunctionScopes::covering(const std::vector<Range>& ranges, uint64_t address) {
    for (const Range& range : ranges)
        if (address >= range.low && address < range.high)
            return &range.die;
    return nullptr;
}

std::optional<Dwarf_Die> FunctionScopes::unit_at(uint64_t address) {
    Dwarf_Die unit;
    if (dwarf_addrdie(dwarf(), address, &unit))
        return unit;
    if (!units_) {
        units_.emplace();
        for_each_compile_unit(dwarf(), [&](Dwarf_Die& die) {
            add_ranges(die, [&](uint64_t low, uint64_t high) { units_->push_back({low, high, die}); });
        });
    }
    const Dwarf_Die* found = covering(*units_, address);
    return found ? std::optional(*found) : std::nullopt;
}

// Descends from the function through nested scopes that contain the address.
std::vector<Dwarf_Die> FunctionScopes::functions_at(Dwarf_Die unit, uint64_t address) {
    auto [entry, fresh] = unit_functions_.try_emplace(dwarf_dieoffset(&unit));
    if (fresh) {
        auto take = [&, &functions = entry->second](Dwarf_Die& function) {
            add_ranges(function, [&](uint64_t low, uint64_t high) { functions.push_back({low, high, function}); });
        };
        for_each_function(unit, 0, take);
    }
    const Dwarf_Die* function = covering(entry->second, address);
    if (!function)
        return {};
    std::vector<Dwarf_Die> out = {*function};
    std::optional<Dwarf_Die> at = *function;
    for (int depth = 0; at && depth < deepest_scope; depth++) {
        std::optional<Dwarf_Die> inner;
        for_each_child(*at, [&](Dwarf_Die& child) {
            if (is_scope(dwarf_tag(&child)) && dwarf_haspc(&child, address) == 1)
                inner = child;
            return !inner;
        });
        if (inner && dwarf_tag(&*inner) == DW_TAG_inlined_subroutine)
            out.push_back(*inner);
        at = inner;
    }
    return out;
}

} // namespace sonde
