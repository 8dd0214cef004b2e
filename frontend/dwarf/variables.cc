// A DIE is one description of a variable, and a variable can have several: a declaration and a definition, or an
// abstract one and one for each inlined copy. Scripts see one variable. Its name and type come from any of them, its
// location only from the concrete one.
//
// Example: `static int f(int a) { int b = a * 2; return b; }` is inlined into main(), and `b` is optimized away. The
// inlined copy has a DIE for `a` only, with a reference to the abstract `a`. The abstract f() has both. add_variables()
// goes through the abstract children and replaces each by its concrete DIE. `b` keeps its abstract DIE, which has no
// location, so that `$b` is "optimized out".
//
// The order of scopes decides which variable a name means. A caller must add inner scopes first.
#include "frontend/dwarf/variables.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/debug/die.h"
#include "base/demangle.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/function_pattern.h"
#include "frontend/dwarf/globals.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/scopes.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/type_reader.h"
#include "frontend/dwarf/unit_index.h"

namespace sonde {
namespace {

// Returns false if the DIE is not a copy of an abstract one.
bool origin_of(Dwarf_Die& die, Dwarf_Die* origin) {
    Dwarf_Attribute attribute;
    return dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, origin);
}

} // namespace

std::optional<Variable> Variables::make_variable(Dwarf_Die& die, Depth depth, const char* pack_name) {
    const char* name = dwarf_diename(&die);
    if (!name)
        name = pack_name;
    if (!name || !*name || *name == '.') // hidden variables in Go, such as .dict
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
        find_global(units_, die, unit, &definition);
    }
    variable.type = types_.type_of(die);
    if (depth == Depth::Types)
        complete_deep(variable.type);
    variable.die = debug_.pack(definition);
    return variable;
}

// Adds the variables that a scope declares, unless an inner scope has added one with the same name.
//
// In clang's debug information, the parameters of a C++ parameter pack all have the pack's name. They become `args`,
// `args_2`, `args_3` here. gcc does not repeat the name.
void Variables::add_variables(Dwarf_Die& scope, std::vector<Variable>& variables, bool parameters_only, Depth depth) {
    auto wanted = [&](Dwarf_Die& die) {
        int tag = dwarf_tag(&die);
        return tag == DW_TAG_formal_parameter || (tag == DW_TAG_variable && !parameters_only);
    };
    struct Child {
        Dwarf_Die die;
        bool packed; // inside the DIE of a pack
    };
    auto children = [&](Dwarf_Die& parent) {
        std::vector<Child> found;
        for_each_child(parent, [&](Dwarf_Die& child) {
            if (wanted(child))
                found.push_back({child, false});
            else if (dwarf_tag(&child) == DW_TAG_GNU_formal_parameter_pack)
                for_each_child(child, [&](Dwarf_Die& part) {
                    found.push_back({part, true});
                    return true;
                });
            return true;
        });
        return found;
    };
    std::vector<Child> concrete = children(scope);
    std::map<const void*, size_t> by_origin; // maps abstract DIEs to their concrete DIE here
    for (size_t i = 0; i < concrete.size(); i++) {
        Dwarf_Die origin;
        if (origin_of(concrete[i].die, &origin))
            by_origin.emplace(origin.addr, i);
    }
    Dwarf_Die unit;
    bool is_cxx = dwarf_diecu(&scope, &unit, nullptr, nullptr) && is_cxx_language(dwarf_srclang(&unit));
    std::map<std::string, int> parameters;
    auto add = [&](Child& child) {
        std::optional<Variable> variable = make_variable(child.die, depth, child.packed ? "pack" : nullptr);
        if (!variable)
            return;
        if (is_cxx && variable->is_parameter)
            if (int number = ++parameters[variable->name]; number > 1)
                variable->name += fmt::format("_{}", number);
        if (std::none_of(variables.begin(), variables.end(),
                         [&](const Variable& other) { return other.name == variable->name; }))
            variables.push_back(*std::move(variable));
    };
    // The abstract function has all variables, in the order of the source.
    std::vector<bool> added(concrete.size());
    Dwarf_Die abstract;
    if (origin_of(scope, &abstract))
        for (Child& child : children(abstract)) {
            auto found = by_origin.find(child.die.addr);
            if (found != by_origin.end()) {
                added[found->second] = true;
                child.die = concrete[found->second].die;
            }
            add(child);
        }
    for (size_t i = 0; i < concrete.size(); i++)
        if (!added[i])
            add(concrete[i]);
}

std::vector<Variable> Variables::parameters(const FunctionInstance& function) {
    std::vector<Variable> variables;
    Dwarf_Die die;
    if (function.has_debug_info && debug_.unpack(function.die, &die))
        add_variables(die, variables, true, Depth::Types);
    std::erase_if(variables, [](const Variable& one) { return one.is_result; });
    return variables;
}

// A constructor or destructor in C++ is one function in the source and several in the program. Only the concrete DIE
// has the arguments that are added for virtual bases.
std::vector<Variable> Variables::arguments(const FunctionInstance& function) {
    std::vector<Variable> arguments;
    Dwarf_Die die;
    if (!function.has_debug_info || !debug_.unpack(function.die, &die))
        return arguments;
    for_each_child_of_function(die, [&](Dwarf_Die& child) {
        if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
            Variable& argument = arguments.emplace_back();
            argument.is_parameter = true;
            argument.type = types_.type_of(child);
            complete_deep(argument.type);
            argument.die = debug_.pack(child);
        }
        return true;
    });
    return arguments;
}

std::vector<Variable> Variables::at(Address address, bool with_globals) {
    return in(units_.function_at(address), address, with_globals);
}

std::vector<Variable> Variables::in(const FunctionInstance& function, Address address, bool with_globals) {
    return function.has_debug_info ? in(units_.find_function(function.die), address, with_globals)
                                   : std::vector<Variable>();
}

std::vector<Variable> Variables::to_list(const FunctionInstance& function, Address address) {
    return function.has_debug_info ? locals(units_.find_function(function.die), address, Depth::Names)
                                   : std::vector<Variable>();
}

std::vector<Variable> Variables::in(FunctionRef function, Address address, bool with_globals) {
    std::vector<Variable> variables = locals(function, address, Depth::Types);
    if (with_globals)
        if (Unit* unit = function ? function.unit : units_.unit_at(address))
            add_unit_globals(function, *unit, variables);
    return variables;
}

std::vector<Variable> Variables::locals(FunctionRef function, Address address, Depth depth) {
    std::vector<Variable> variables;
    // A nested function (GNU C, Pascal) can use the variables of the enclosing function; a C++ lambda cannot. DWARF
    // describes this by DW_AT_static_link, which is not supported.
    for (Dwarf_Die& scope : scopes_around(function, address))
        add_variables(scope, variables, false, depth);
    return variables;
}

// Adds the globals that a function of this unit sees. A global is hidden by a local variable or an earlier global with
// the same name.
//
// After link-time optimization, the unit may have variables of several sources (see original()). Example: a.c and b.c
// both have `static int count`; a function of b.c sees that of b.c.
void Variables::add_unit_globals(const FunctionRef& function, Unit& unit, std::vector<Variable>& variables) {
    scan(unit);
    Dwarf_Die die;
    Dwarf_Off source = 0;
    if (die_of(function, &die)) {
        Dwarf_Die origin = original(die), cu;
        if (dwarf_diecu(&origin, &cu, nullptr, nullptr))
            source = dwarf_dieoffset(&cu);
    }
    std::set<std::string_view> known;
    for (const Variable& variable : variables)
        known.insert(variable.name);
    std::vector<Variable> added;
    auto add = [&](bool of_source) {
        for (const NamedEntry& entry : unit.variables) {
            if (!dwarf_offdie(unit.dwarf, entry.offset, &die))
                continue;
            Dwarf_Die origin = original(die), cu;
            const Dwarf_Off from = dwarf_diecu(&origin, &cu, nullptr, nullptr) ? dwarf_dieoffset(&cu) : 0;
            // Variables of other sources are visible if they are external.
            const bool is_visible = from == dwarf_dieoffset(&unit.die) || flag_attribute(origin, DW_AT_external);
            if (of_source ? from != source : !is_visible)
                continue;
            const char* name = entry.name ? entry.name : dwarf_diename(&die);
            if (!name || !known.insert(name).second)
                continue;
            if (std::optional<Variable> variable = make_variable(die)) {
                variable->is_global = true;
                added.push_back(*std::move(variable));
            }
        }
    };
    add(true);
    add(false);
    std::move(added.begin(), added.end(), std::back_inserter(variables));
}

std::vector<Variable> Variables::globals(std::string_view name, std::string_view file) {
    std::vector<Variable> found;
    std::string_view last = last_component(name);
    std::string pattern(file);
    for (Unit& unit : units_.all()) {
        scan(unit);
        for (const NamedEntry& entry : unit.variables) {
            Dwarf_Die die;
            if (entry.declaration || (entry.name && entry.name != last) ||
                !dwarf_offdie(unit.dwarf, entry.offset, &die))
                continue;
            const char* plain = entry.name ? entry.name : dwarf_diename(&die);
            if (!plain || !is_global_named(units_, unit, entry, die, plain, name))
                continue;
            const char* unit_name = dwarf_diename(&unit.unit_die);
            std::string declared = declaration_file(die);
            if (!file_matches(pattern, declared) && !(unit_name && file_matches(pattern, unit_name)))
                continue;
            std::optional<Variable> variable = make_variable(die);
            if (!variable)
                continue;
            variable->is_global = true;
            variable->file = declared;
            variable->external = flag_attribute(die, DW_AT_external);
            found.push_back(*std::move(variable));
        }
    }
    return found;
}

// Go has several results, each with a DIE. Other languages have at most one, which has only a type.
std::vector<Variable> Variables::results(const FunctionInstance& function) {
    std::vector<Variable> all;
    Dwarf_Die die;
    if (function.is_go) {
        if (function.has_debug_info && debug_.unpack(function.die, &die))
            add_variables(die, all, true, Depth::Types);
        std::erase_if(all, [](const Variable& one) { return !one.is_result; });
        for (Variable& one : all)
            if (one.name.starts_with('~')) // the compiler's name for an unnamed result
                one.name.clear();
    } else if (const Type* type = result_type(function)) {
        all.emplace_back().type = type;
    }
    return all;
}

const Type* Variables::result_type(const FunctionInstance& function) {
    Dwarf_Die die;
    if (!function.has_debug_info || !debug_.unpack(function.die, &die))
        return nullptr;
    if (function.is_go) {
        std::vector<Variable> all = results(function);
        return all.empty() ? nullptr : all[0].type;
    }
    const Type* type = types_.type_of(die);
    // The assembler uses DW_TAG_unspecified_type for the result of its functions.
    if (!strip(type) || strip(type)->kind == Type::Unknown)
        return nullptr;
    complete_deep(type);
    return type;
}

// The mangled name has the types as the source wrote them, so it is preferred to the parameters' DIEs.
std::string Variables::signature(const FunctionInstance& function) {
    if (std::optional<std::string> plain = demangle(function.linkage_name))
        return symbol_parameters(*plain);
    if (!function.has_debug_info)
        return "";
    std::string text;
    for (const Variable& parameter : parameters(function))
        text += (text.empty() ? "" : ", ") + type_name(parameter.type);
    return "(" + text + ")";
}

} // namespace sonde
