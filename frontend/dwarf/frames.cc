// A call site has the return address, the called function and the values of registers:
//
//     DW_TAG_call_site            call_return_pc 0x1145, call_origin total()
//       DW_TAG_call_site_parameter   location DW_OP_reg5, call_value DW_OP_breg3 2
//
// So rdi was rbx + 2 at this call. A wrong value would be worse than none, and two things can make it wrong:
//
// * The call goes to another function, which jumps to this one (a tail call). So the call site must name the function.
//   A call through a pointer names none.
// * The function itself ends with a jump that leads to its entry again. So it must have no tail calls, and its debug
//   information must say that it describes all of them.
#include "frontend/dwarf/frames.h"

#include <dwarf.h>

#include <functional>
#include <string_view>

#include "arch/architecture.h"
#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/location_expression.h"
#include "frontend/dwarf/locations.h"
#include "frontend/dwarf/scopes.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

constexpr int deepest = 64;

bool is_call_site(Dwarf_Die& die) {
    return dwarf_tag(&die) == DW_TAG_call_site || dwarf_tag(&die) == DW_TAG_GNU_call_site;
}

// Calls `visit` for each call site of a function, also in blocks and inlined functions. Ends when it returns false.
bool for_each_call_site(Dwarf_Die& parent, int depth, const std::function<bool(Dwarf_Die&)>& visit) {
    bool goes_on = true;
    for_each_child(parent, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (is_call_site(child))
            goes_on = visit(child);
        else if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
                  tag == DW_TAG_catch_block) &&
                 depth < deepest)
            goes_on = for_each_call_site(child, depth + 1, visit);
        return goes_on;
    });
    return goes_on;
}

bool returns_to(Dwarf_Die& site, Address address) {
    Dwarf_Attribute attribute;
    Dwarf_Addr found = 0;
    for (const unsigned name : {DW_AT_call_return_pc, DW_AT_low_pc})
        if (dwarf_attr(&site, name, &attribute) && dwarf_formaddr(&attribute, &found) == 0)
            return found == address;
    return false;
}

// `here`: the callee's DIE, if it is in the module of the call site; else null.
bool is_call_of(Dwarf_Die& site, const FunctionInstance& callee, const Dwarf_Die* here) {
    Dwarf_Attribute attribute;
    Dwarf_Die function;
    if ((!dwarf_attr(&site, DW_AT_call_origin, &attribute) && !dwarf_attr(&site, DW_AT_abstract_origin, &attribute)) ||
        !dwarf_formref_die(&attribute, &function))
        return false;
    if (here && original(function).addr == original(*here).addr)
        return true;
    if (!callee.external) // then the call site would name this DIE
        return false;
    const char* linkage = string_attribute(function, DW_AT_linkage_name);
    if (linkage)
        return callee.linkage_name == linkage;
    const char* name = dwarf_diename(&function);
    return name && callee.linkage_name.empty() && callee.name == name;
}

bool is_tail_call(Dwarf_Die& site) {
    return flag_attribute(site, DW_AT_call_tail_call) || flag_attribute(site, DW_AT_GNU_tail_call);
}

} // namespace

std::vector<FunctionInstance> Frames::functions_at(Address address) {
    std::vector<FunctionInstance> out;
    FunctionRef function = units_.function_at(address);
    const FunctionRef outermost = enclosing_subprogram(function);
    while (function) {
        if (const FunctionInstance* instance = instances_.of(function))
            out.push_back(*instance);
        if (function == outermost || function->parent == no_index)
            break;
        function.index = function->parent;
    }
    return out;
}

void Frames::accept_entry_values() { locations_.accept_entry_values(); }

std::vector<CallValue> Frames::values_at_call(Address return_address, const FunctionInstance& callee, bool is_here) {
    const Address call = return_address - 1;
    Dwarf_Die caller, own;
    std::vector<CallValue> out;
    if (!die_of(enclosing_subprogram(units_.function_at(call)), &caller))
        return out;
    is_here = is_here && debug_.unpack(callee.die, &own);
    for_each_call_site(caller, 0, [&](Dwarf_Die& site) {
        if (is_tail_call(site) || !returns_to(site, return_address))
            return true;
        if (!is_call_of(site, callee, is_here ? &own : nullptr))
            return false;
        for_each_child(site, [&](Dwarf_Die& parameter) {
            Dwarf_Attribute place, value;
            Dwarf_Op* ops = nullptr;
            size_t length = 0;
            if (dwarf_attr(&parameter, DW_AT_location, &place) && dwarf_getlocation(&place, &ops, &length) == 0 &&
                length == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
                (dwarf_attr(&parameter, DW_AT_call_value, &value) ||
                 dwarf_attr(&parameter, DW_AT_GNU_call_site_value, &value)))
                out.push_back({static_cast<int>(host_architecture().register_of(ops[0].atom - DW_OP_reg0)),
                               locations_.of_call(call, value)});
            return true;
        });
        return false;
    });
    return out;
}

bool Frames::is_only_called(const FunctionInstance& function) {
    Dwarf_Die die;
    if (!function.has_debug_info || !debug_.unpack(function.die, &die))
        return false;
    const unsigned all[] = {DW_AT_call_all_calls,     DW_AT_call_all_tail_calls,     DW_AT_call_all_source_calls,
                            DW_AT_GNU_all_call_sites, DW_AT_GNU_all_tail_call_sites, DW_AT_GNU_all_source_call_sites};
    bool describes_all = false;
    for (const unsigned name : all)
        describes_all = describes_all || flag_attribute(die, name);
    return describes_all && for_each_call_site(die, 0, [](Dwarf_Die& site) { return !is_tail_call(site); });
}

} // namespace sonde
