// Qualified names. DWARF has only the parts: a function's own name, and the DIEs around it. A script may write a name
// in several ways, and all of them should find the function:
//
//   f    C::f    ns::C<int>::f    ns::C::f    C<int>::f<long>
//
// So a name is never compared as one string. qualified_matches() builds the name from the inside outward, and compares
// each step with the pattern.
//
// The traps are in the operators, whose names contain the same characters as template arguments: `operator<`,
// `operator<<`, `operator()<int>`. operator_of() separates the two.
#include "frontend/dwarf/unit.h"

#include <cstdlib>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/glob.h"

namespace sonde {

bool die_at(const Unit& unit, Dwarf_Off offset, Dwarf_Die* die) {
    return (unit.in_types_section ? dwarf_offdie_types : dwarf_offdie)(unit.dwarf, offset, die) != nullptr;
}

bool die_of(FunctionRef function, Dwarf_Die* die) { return function && die_at(*function.unit, function->offset, die); }

FunctionRef enclosing_subprogram(FunctionRef function) {
    // A parent always has a smaller index, so the loop ends.
    while (function && function->inlined) {
        if (function->parent == no_index)
            return {};
        function.index = function->parent;
    }
    return function;
}

bool is_inside_of(FunctionRef inner, FunctionRef outer) {
    for (uint32_t at = inner->parent; at != no_index && at >= outer.index; at = inner.unit->functions[at].parent)
        if (at == outer.index)
            return true;
    return false;
}

const char* scope_name(const ScopeEntry& scope) {
    return scope.name ? scope.name : scope.is_namespace ? "(anonymous namespace)" : "(anonymous)";
}

std::string scope_prefix(const Unit& unit, uint32_t scope) {
    std::string prefix;
    for (; scope != no_index; scope = unit.scopes[scope].parent) { // a parent always has a smaller index
        prefix = fmt::format("{}::{}", scope_name(unit.scopes[scope]), prefix);
    }
    return prefix;
}

std::string scope_prefix(Dwarf_Die& declaration) {
    std::string prefix;
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&declaration, &scopes);
    for (int i = 1; i < count; i++) { // the first scope is the declaration itself, the last is the unit
        const int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_namespace && tag != DW_TAG_structure_type && tag != DW_TAG_class_type &&
            tag != DW_TAG_union_type)
            break;
        const char* name = dwarf_diename(&scopes[i]);
        prefix = fmt::format("{}::{}", scope_name({name, no_index, tag == DW_TAG_namespace, false}), prefix);
    }
    if (count > 0)
        free(scopes);
    return prefix;
}

Dwarf_Die declaration_of(Dwarf_Die& definition) {
    Dwarf_Attribute attribute;
    Dwarf_Die declaration;
    const bool is_declared =
        dwarf_attr(&definition, DW_AT_specification, &attribute) && dwarf_formref_die(&attribute, &declaration);
    return is_declared ? declaration : definition;
}

namespace {

// Returns "operator+" for "operator+<int>", and the whole name for `operator<`. Returns "" if the name is not an
// operator with template arguments.
std::string_view operator_of(std::string_view name) {
    constexpr std::string_view word = "operator";
    if (!name.starts_with(word))
        return {};
    for (std::string_view sign : {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"})
        if (name.substr(word.size()).starts_with(sign) && name.substr(word.size() + sign.size()).starts_with('<'))
            return name.substr(0, word.size() + sign.size());
    const size_t arguments = name.find('<', word.size());
    const bool is_sign = arguments != std::string_view::npos && arguments > word.size() &&
                         name.find_first_of("<>") == arguments &&
                         ispunct(static_cast<unsigned char>(name[word.size()]));
    return is_sign ? name.substr(0, arguments) : std::string_view();
}

} // namespace

std::string without_template_arguments(std::string_view name) {
    if (std::string_view plain = operator_of(name); !plain.empty() && name.back() == '>')
        return std::string(plain);
    if (name.empty() || name.back() != '>' || name.starts_with("operator"))
        return std::string(name);
    // Find the `<` that belongs to the last `>`: arguments can be templates themselves, as in f<g<int>>.
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
        if (name[i] == '>')
            depth++;
        else if (name[i] == '<' && --depth == 0)
            return std::string(name.substr(0, i));
    }
    return std::string(name);
}

std::string without_blanks(std::string_view name) {
    std::string out(name);
    std::erase(out, ' ');
    return out;
}

// Builds the qualified name from the inside, and compares each step with the pattern: "f", "C<int>::f",
// "ns::C<int>::f". So a user may omit outer scopes.
//
// This is done in four variants: with and without template arguments, and with and without the scopes that are
// invisible in the source (inline and anonymous namespaces). If the pattern has template arguments, blanks do not
// count, because compilers write "map<int, int>" and "map<int,int>".
bool qualified_matches(const Unit& unit, uint32_t scope, std::string_view name, std::string_view pattern) {
    std::string plain = without_template_arguments(name);
    const bool any_blanks = pattern.find('<') != std::string_view::npos;
    const std::string squeezed = any_blanks ? without_blanks(pattern) : "";
    const auto matches = [&](const std::string& text) {
        return any_blanks ? glob_match(squeezed, without_blanks(text)) : glob_match(pattern, text);
    };
    for (bool with_arguments : {true, false})
        for (bool with_all : {true, false}) {
            std::string text = with_arguments ? std::string(name) : plain;
            if (matches(text))
                return true;
            // A parent always has a smaller index.
            for (uint32_t at = scope; at != no_index; at = unit.scopes[at].parent) {
                const ScopeEntry& entry = unit.scopes[at];
                if (!with_all && entry.is_namespace && (entry.is_inline || !entry.name))
                    continue;
                std::string part = scope_name(entry);
                text = fmt::format("{}::{}", with_arguments ? part : without_template_arguments(part), text);
                if (matches(text))
                    return true;
            }
        }
    return false;
}

std::string_view last_component(std::string_view name) {
    // Find the last `::` outside of template arguments: the last component of C<a::b>::f is f.
    int depth = 0;
    for (size_t i = name.size(); i-- > 1;) {
        if (name[i] == '>')
            depth++;
        else if (name[i] == '<')
            depth--;
        else if (depth == 0 && name[i] == ':' && name[i - 1] == ':')
            return name.substr(i + 1);
    }
    return name;
}

} // namespace sonde
