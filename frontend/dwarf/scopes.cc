#include "frontend/dwarf/scopes.h"

#include <algorithm>

#include <dwarf.h>

#include "base/debug/die.h"

namespace sonde {
namespace {

bool is_block(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
           tag == DW_TAG_with_stmt;
}

} // namespace

std::vector<Dwarf_Die> scopes_around(FunctionRef function, Address address) {
    std::vector<Dwarf_Die> scopes(1);
    if (!die_of(function, scopes.data()))
        return {};
    for (bool deeper = true; deeper && scopes.size() < static_cast<size_t>(max_die_depth);) {
        deeper = false;
        Dwarf_Die current = scopes.back();
        for_each_child(current, [&](Dwarf_Die& child) {
            if (!is_block(dwarf_tag(&child)) || dwarf_haspc(&child, address) != 1)
                return true;
            scopes.push_back(child);
            deeper = true;
            return false;
        });
    }
    std::ranges::reverse(scopes);
    return scopes;
}

FunctionRef owner_of(Dwarf_Die& die, FunctionRef innermost) {
    if (!innermost || dwarf_cu_getdwarf(die.cu) != innermost.unit->dwarf)
        return innermost;
    const std::vector<FunctionEntry>& all = innermost.unit->functions;
    auto after = std::upper_bound(all.begin(), all.end(), dwarf_dieoffset(&die),
                                  [](Dwarf_Off value, const FunctionEntry& entry) { return value < entry.offset; });
    // The previous entry is the owner, or something inside the owner that has ended. A `parent` always has a smaller
    // index.
    for (uint32_t i = static_cast<uint32_t>(after - all.begin()); i != 0 && i != no_index + 1;
         i = all[i - 1].parent + 1)
        for (uint32_t around = innermost.index; around != no_index; around = all[around].parent)
            if (around == i - 1)
                return {innermost.unit, around};
    return innermost;
}

Dwarf_Die original(Dwarf_Die die) {
    constexpr int longest_chain = 8;
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    for (int i = 0; i < longest_chain && dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
                    dwarf_formref_die(&attribute, &next);
         i++)
        die = next;
    return die;
}

} // namespace sonde
