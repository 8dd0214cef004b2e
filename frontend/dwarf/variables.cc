// Variables in scope at an address: from the innermost block outwards to the function, then the unit's globals.
//
// An inlined copy describes its variables by reference to the abstract function, and leaves out those that vanished
// completely; they are added from there, so that a script hears "optimized out" and not "no such variable".
#include <algorithm>
#include <cstring>
#include <set>

#include <dwarf.h>

#include "frontend/dwarf/reader.h"

namespace sonde {
namespace {

bool is_block(int tag) {
    return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block ||
           tag == DW_TAG_with_stmt;
}

bool origin_of(Dwarf_Die& die, Dwarf_Die* origin) {
    Dwarf_Attribute attribute;
    return dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, origin);
}

} // namespace

std::optional<Variable> DwarfReader::make_variable(Dwarf_Die& die, Depth depth) {
    const char* name = dwarf_diename(&die);
    if (!name || !*name || *name == '.') // Go's hidden ones: .dict
        return std::nullopt;
    Variable variable;
    variable.name = name;
    variable.is_parameter = dwarf_tag(&die) == DW_TAG_formal_parameter;
    variable.is_result = variable.is_parameter && flag_attribute(die, DW_AT_variable_parameter);
    if (dwarf_decl_line(&die, &variable.line) != 0)
        variable.line = 0;
    Dwarf_Die definition = die;
    // `extern int x;` inside a block means the global.
    if (!variable.is_parameter && flag_attribute(die, DW_AT_declaration)) {
        variable.is_global = true;
        Unit* unit = units_.unit_of(die);
        find_global(die, unit, &definition);
    }
    variable.type = type_of(die);
    if (depth == Depth::Types)
        complete_deep(variable.type);
    variable.die = debug_.pack(definition);
    return variable;
}

void DwarfReader::add_variables(Dwarf_Die& scope, std::vector<Variable>& variables, bool parameters_only, Depth depth) {
    std::vector<Dwarf_Die> concrete;
    auto wanted = [&](Dwarf_Die& die) {
        int tag = dwarf_tag(&die);
        return tag == DW_TAG_formal_parameter || (tag == DW_TAG_variable && !parameters_only);
    };
    std::map<const void*, Dwarf_Die> by_origin; // abstract DIEs that have a concrete one here
    for_each_child(scope, [&](Dwarf_Die& child) {
        if (wanted(child)) {
            concrete.push_back(child);
            Dwarf_Die origin;
            if (origin_of(child, &origin))
                by_origin.emplace(origin.addr, child);
        }
        return true;
    });
    auto add = [&](Dwarf_Die& die) {
        std::optional<Variable> variable = make_variable(die, depth);
        if (variable && std::none_of(variables.begin(), variables.end(),
                                     [&](const Variable& other) { return other.name == variable->name; }))
            variables.push_back(*std::move(variable));
    };
    // The abstract function has all variables in the order of the source.
    Dwarf_Die abstract;
    if (origin_of(scope, &abstract))
        for_each_child(abstract, [&](Dwarf_Die& child) {
            if (wanted(child)) {
                auto found = by_origin.find(child.addr);
                add(found != by_origin.end() ? found->second : child);
            }
            return true;
        });
    for (Dwarf_Die& die : concrete)
        add(die);
}

FunctionRef DwarfReader::owner_of(Dwarf_Die& die, FunctionRef innermost) {
    if (!innermost || dwarf_cu_getdwarf(die.cu) != innermost.unit->dwarf)
        return innermost;
    const std::vector<FunctionEntry>& all = innermost.unit->functions;
    auto after = std::upper_bound(all.begin(), all.end(), dwarf_dieoffset(&die),
                                  [](Dwarf_Off value, const FunctionEntry& entry) { return value < entry.offset; });
    // The entry before is the owner or something inside it that ended; a `parent` is always a smaller index.
    for (uint32_t i = static_cast<uint32_t>(after - all.begin()); i != 0 && i != no_index + 1;
         i = all[i - 1].parent + 1)
        for (uint32_t around = innermost.index; around != no_index; around = all[around].parent)
            if (around == i - 1)
                return {innermost.unit, around};
    return innermost;
}

std::vector<Variable> DwarfReader::parameters(const FunctionInstance& function) {
    std::vector<Variable> variables;
    Dwarf_Die die;
    if (function.has_debug_info && debug_.unpack(function.die, &die))
        add_variables(die, variables, true, Depth::Types);
    std::erase_if(variables, [](const Variable& one) { return one.is_result; });
    return variables;
}

std::vector<Variable> DwarfReader::variables_at(Address address, bool globals) {
    return variables_in(units_.function_at(address), address, globals);
}

std::vector<Variable> DwarfReader::variables_in(const FunctionInstance& function, Address address, bool globals) {
    return function.has_debug_info ? variables_in(units_.find_function(function.die), address, globals)
                                   : std::vector<Variable>();
}

std::vector<Variable> DwarfReader::variables_to_list(const FunctionInstance& function, Address address) {
    return function.has_debug_info ? locals_in(units_.find_function(function.die), address, Depth::Names)
                                   : std::vector<Variable>();
}

std::vector<Variable> DwarfReader::variables_in(FunctionRef function, Address address, bool globals) {
    std::vector<Variable> variables = locals_in(function, address, Depth::Types);
    if (globals)
        if (Unit* unit = function ? function.unit : units_.unit_at(address))
            add_unit_globals(*unit, variables);
    return variables;
}

std::vector<Variable> DwarfReader::locals_in(FunctionRef function, Address address, Depth depth) {
    std::vector<Variable> variables;
    // A nested function (GNU C) or a Pascal-like one sees the variables of the function around it; a C++ lambda does
    // not. DWARF gives the outer ones through DW_AT_static_link, which is not followed.
    for (Dwarf_Die& scope : scopes_around(function, address))
        add_variables(scope, variables, false, depth);
    return variables;
}

// From the innermost block around the address to the function.
std::vector<Dwarf_Die> DwarfReader::scopes_around(FunctionRef function, Address address) {
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

std::optional<int64_t> DwarfReader::visible_enumerator(const FunctionInstance& function, Address address,
                                                       std::string_view name) {
    FunctionRef found = units_.find_function(function.die);
    std::vector<Dwarf_Die> scopes = scopes_around(found, address);
    if (scopes.empty())
        return std::nullopt;
    scan(*found.unit);
    // C's enumerations inside of a structure belong to the scope around it, C++'s to the class.
    const bool inside = is_c_language(found.unit->language);
    scopes.push_back(found.unit->unit_die);
    for (Dwarf_Die& scope : scopes)
        if (std::optional<int64_t> value = enumerator_below(scope, name, inside, 0))
            return value;
    return std::nullopt;
}

void DwarfReader::add_unit_globals(Unit& unit, std::vector<Variable>& variables) {
    scan(unit);
    std::set<std::string_view> known;
    for (const Variable& variable : variables)
        known.insert(variable.name);
    std::vector<Variable> added;
    for (const NamedEntry& entry : unit.variables) {
        Dwarf_Die die;
        if (!dwarf_offdie(unit.dwarf, entry.offset, &die))
            continue;
        const char* name = entry.name ? entry.name : dwarf_diename(&die);
        if (!name || !known.insert(name).second)
            continue;
        if (std::optional<Variable> variable = make_variable(die)) {
            variable->is_global = true;
            added.push_back(*std::move(variable));
        }
    }
    std::move(added.begin(), added.end(), std::back_inserter(variables));
}

bool DwarfReader::find_global(Dwarf_Die& declaration, Unit* first, Dwarf_Die* die) {
    const char* name = dwarf_diename(&declaration);
    if (!name)
        return false;
    std::string qualified = qualified_global(declaration);
    auto find_in = [&](Unit& unit) {
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            // A definition without a name of its own refers to a declaration in a namespace or class.
            if (entry.declaration || (entry.name && strcmp(entry.name, name) != 0))
                continue;
            Dwarf_Die candidate;
            if (!dwarf_offdie(unit.dwarf, entry.offset, &candidate))
                continue;
            const char* candidate_name = entry.name ? entry.name : dwarf_diename(&candidate);
            if (!candidate_name || strcmp(candidate_name, name) != 0 ||
                !dwarf_hasattr_integrate(&candidate, DW_AT_location) || qualified_global(candidate) != qualified)
                continue;
            // Only an external definition of another unit can be meant.
            if (&unit != first && !flag_attribute(candidate, DW_AT_external))
                continue;
            *die = candidate;
            return true;
        }
        return false;
    };
    if (first && find_in(*first))
        return true;
    for (Unit& unit : units_.all())
        if (&unit != first && find_in(unit))
            return true;
    return false;
}

} // namespace sonde
