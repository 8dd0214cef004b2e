// Finds functions by name. What makes this difficult is that one function has many names, and one name means many
// functions:
//
// * `f` means f, ns::f, C::f, f<int>, all inlined copies of these, and static functions in several files;
// * `C::f` also means ns::C::f, and the parts of a coroutine are called like the coroutine;
// * a constructor has several symbols at different addresses; an alias has several symbols at one address;
// * functions of assembly code, and all functions of stripped programs, exist as symbols only.
//
// The search goes through three sources (debug information, symbols, IFUNCs). An address that an earlier source has
// found is not reported again. A function that is missed means lost hits, and one that is found twice means doubled
// counts.
#include "frontend/dwarf/function_search.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include <dwarf.h>
#include <fmt/format.h>

#include "base/debug/die.h"
#include "base/demangle.h"
#include "base/glob.h"
#include "base/symbol_parts.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/emitted_variants.h"
#include "frontend/dwarf/function_instances.h"
#include "frontend/dwarf/go.h"
#include "frontend/dwarf/ifuncs.h"
#include "frontend/dwarf/language.h"
#include "frontend/dwarf/name_filter.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/dwarf/symbol_text.h"
#include "frontend/dwarf/unit_index.h"
#include "frontend/dwarf/variables.h"
#include "frontend/machine/symbol_versions.h"

namespace sonde {
namespace {

bool line_matches(const FunctionPattern& pattern, int line) {
    switch (pattern.line_kind) {
    case FunctionPattern::Absolute:
        return line == pattern.line;
    case FunctionPattern::LineRange:
        return line >= pattern.line && line <= pattern.line_end;
    case FunctionPattern::None:
    case FunctionPattern::Relative:
    case FunctionPattern::Wildcard:
        break;
    }
    return true;
}

// Returns "a::f" for "a::v2::f", where v2 is an inline namespace.
std::string without_inline_namespaces(FunctionRef naming, std::string name) {
    for (uint32_t at = naming->scope; at != no_index; at = naming.unit->scopes[at].parent) {
        const ScopeEntry& scope = naming.unit->scopes[at];
        const std::string text = scope.is_inline && scope.name ? fmt::format("{}::", scope.name) : "";
        if (size_t found = text.empty() ? std::string::npos : name.find(text); found != std::string::npos)
            name.erase(found, text.size());
    }
    return name;
}

// Whether the mangled name matches, or the demangled symbol in cases where DWARF has no complete name: Rust's `<T as
// Trait>::f`, and template arguments after -gsimple-template-names. `bare` is the name without scopes.
bool linkage_matches(FunctionRef function, FunctionRef naming, const char* bare, const std::string& pattern) {
    const bool is_rust =
        function.unit->language == DW_LANG_Rust && (pattern.find("::") != std::string::npos || has_wildcard(pattern));
    const bool has_arguments =
        is_cxx_language(function.unit->language) && pattern.find('<') != std::string::npos && !strchr(bare, '<');
    Dwarf_Die die;
    if ((!is_rust && !has_arguments && !pattern.starts_with("_")) || !die_of(function, &die))
        return false;
    const char* linkage = linkage_name(die);
    if (!linkage)
        return false;
    if (glob_match(pattern, linkage) || (is_rust && symbol_matches(pattern, linkage)))
        return true;
    std::optional<std::string> plain = has_arguments ? demangle(linkage) : std::nullopt;
    return plain && (matches_name(pattern, symbol_name(*plain)) ||
                     matches_name(pattern, without_inline_namespaces(naming, symbol_name(*plain))));
}

// Returns the suffix of a pattern that names a part of a coroutine.
std::string_view part_of_pattern(const FunctionPattern& pattern) {
    for (std::string_view part : {".resume", ".destroy", ".cleanup", ".actor"})
        if (pattern.function.ends_with(part) && pattern.function.size() > part.size())
            return part;
    return {};
}

std::optional<Dwarf_Off> origin_of(FunctionRef function) {
    Dwarf_Die die, origin;
    Dwarf_Attribute attribute;
    if (!die_of(function, &die) || !dwarf_attr(&die, DW_AT_abstract_origin, &attribute) ||
        !dwarf_formref_die(&attribute, &origin))
        return std::nullopt;
    return dwarf_dieoffset(&origin);
}

// Whether the entry is a part of a function that gcc split off and then inlined back. It looks like a copy of the
// function inside itself, whose call is at the function's declaration. The copy of a recursive call has another call
// position.
bool is_part_put_back(FunctionRef function) {
    if (!function->inlined || function->parent == no_index)
        return false;
    const std::optional<Dwarf_Off> origin = origin_of(function);
    Dwarf_Die die;
    int line = 0, column = 0;
    return origin && origin == origin_of({function.unit, function->parent}) && die_of(function, &die) &&
           dwarf_decl_line(&die, &line) == 0 && dwarf_decl_column(&die, &column) == 0 &&
           number_attribute(die, DW_AT_call_line) == static_cast<uint64_t>(line) &&
           number_attribute(die, DW_AT_call_column) == static_cast<uint64_t>(column);
}

bool is_mangled(std::string_view name) { return name.starts_with("_Z") || name.starts_with("_R"); }

// Whether `one` is the name that the program's author would rather use for this address.
bool is_better(const CodeSymbol& one, const CodeSymbol& other) {
    auto rank = [](const CodeSymbol& symbol) {
        size_t underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
        return std::tuple(!symbol.global, is_mangled(symbol.name) ? 0 : underscores, symbol.name.size(), symbol.name);
    };
    return rank(one) < rank(other);
}

// Sorts by address and name, and removes duplicates.
void sort_functions(std::vector<FunctionInstance>& found) {
    std::stable_sort(found.begin(), found.end(), [](const FunctionInstance& a, const FunctionInstance& b) {
        if (a.entry != b.entry)
            return a.entry < b.entry;
        if (a.name != b.name)
            return a.name < b.name;
        return a.inlined < b.inlined;
    });
    // The variants of a constructor can share one body. Two inlined copies can begin at one address only if their names
    // differ.
    auto same = [](const FunctionInstance& a, const FunctionInstance& b) {
        return a.entry == b.entry && a.name == b.name && a.inlined == b.inlined;
    };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
}

} // namespace

// Whether a function of the index has this name. This runs for every function of a unit, so the cheapest comparison
// comes first: the plain name, the name without template arguments, the qualified name, the mangled name.
bool FunctionSearch::name_matches(FunctionRef function, const std::string& pattern) {
    if (pattern == "*")
        return true;
    const char* name = units_.bare_name(function);
    if (!name)
        return false;
    if (function.unit->language == DW_LANG_Go)
        return go_name_matches(pattern, name);
    if (glob_match(pattern, name))
        return true;
    if (is_c_language(function.unit->language))
        return false;
    if (pattern.find('<') == std::string::npos && strchr(name, '<') &&
        glob_match(pattern, without_template_arguments(name)))
        return true;
    if (pattern.find('<') != std::string::npos && strchr(name, '<') &&
        glob_match(without_blanks(pattern), without_blanks(name)))
        return true;
    bool wildcard = has_wildcard(pattern);
    if (wildcard || pattern.find("::") != std::string::npos) { // `*` also matches `::`
        FunctionRef naming = units_.naming_entry(function);
        if (naming->scope != no_index && qualified_matches(*naming.unit, naming->scope, name, pattern))
            return true;
    }
    return linkage_matches(function, units_.naming_entry(function), name, pattern);
}

bool FunctionSearch::matches(FunctionRef function, const FunctionPattern& pattern) {
    if (!name_matches(function, pattern.function))
        return false;
    const FunctionInstance* candidate = pattern.parameters.empty() ? nullptr : instances_.of(function);
    return pattern.parameters.empty() ||
           (candidate && same_parameters(pattern.parameters, variables_.signature(*candidate)));
}

void FunctionSearch::add_functions(Unit& unit, const FunctionPattern& pattern, std::vector<FunctionInstance>& found) {
    scan(unit);
    // In the debug information, the parts of a coroutine have the coroutine's name.
    FunctionPattern whole = pattern;
    const std::string_view part = is_cxx_language(unit.language) ? part_of_pattern(pattern) : std::string_view();
    whole.function.resize(whole.function.size() - part.size());
    for (uint32_t i = 0; i < unit.functions.size(); i++) {
        FunctionRef function{&unit, i};
        if (!function->has_code || function->declaration || !matches(function, whole) || is_part_put_back(function))
            continue;
        const FunctionInstance* candidate = instances_.of(function);
        const bool is_its_part =
            candidate && (candidate->part == part ||
                          (has_wildcard(pattern.function) && matches_name(pattern.function, candidate->name)));
        if (!is_its_part || is_part(*candidate) || !file_matches(pattern.file, candidate->file) ||
            !line_matches(pattern, candidate->line))
            continue;
        // The exact name of a symbol means this variant.
        const bool is_extra =
            is_cxx_language(unit.language) && !pattern.function.starts_with("_Z") &&
            (candidate->inlined ? variants_.contains_another(function) : variants_.runs_another(candidate->entry));
        if (!is_extra)
            found.push_back(*candidate);
        add_thunks(*candidate, found);
    }
}

void FunctionSearch::add_thunks(const FunctionInstance& function, std::vector<FunctionInstance>& found) {
    if (function.inlined || function.linkage_name.empty())
        return;
    for (const CodeSymbol& thunk : variants_.thunks_with_code(function.linkage_name)) {
        FunctionInstance added = instances_.of_symbol(thunk);
        added.name = function.name;
        added.file = function.file;
        added.line = function.line;
        found.push_back(std::move(added));
    }
}

// A unit may be freed after it was visited, so only the addresses of its functions are remembered. They are needed to
// skip symbols that were already found.
void FunctionSearch::visit(const FunctionPattern& pattern, const std::function<void(const FunctionInstance&)>& visit,
                           const std::function<void(uint64_t)>& after_unit) {
    std::set<Address> entries;
    for (size_t i = 0; i < units_.all().size(); i++) {
        Unit& unit = units_.all()[i];
        std::vector<FunctionInstance> found;
        add_functions(unit, pattern, found);
        sort_functions(found);
        for (const FunctionInstance& function : found) {
            if (!function.inlined)
                entries.insert(function.entry);
            visit(function);
        }
        after_unit(unit.end - unit.begin);
    }
    std::vector<FunctionInstance> found;
    add_symbols(pattern, entries, found);
    add_chosen(pattern, entries, found);
    for (const FunctionInstance& function : found)
        visit(function);
}

// The three sources, in order: debug information, symbols, IFUNCs. Each skips the addresses that an earlier one has
// found.
std::vector<FunctionInstance> FunctionSearch::find(const FunctionPattern& pattern) {
    std::vector<FunctionInstance> found;
    const NameFilter filter(debug_.dwarf(),
                            pattern.function.substr(0, pattern.function.size() - part_of_pattern(pattern).size()));
    for (Unit& unit : units_.all())
        if (filter.may_have(unit))
            add_functions(unit, pattern, found);
    std::set<Address> entries;
    for (const FunctionInstance& function : found)
        if (!function.inlined)
            entries.insert(function.entry);
    add_symbols(pattern, entries, found);
    add_chosen(pattern, entries, found);
    // `f@V1` looks like a function in a file V1. If no such file exists, V1 may be the version of a symbol.
    if (found.empty() && !pattern.file.empty() && pattern.line_kind == FunctionPattern::None)
        add_versions(pattern, found);
    sort_functions(found);
    return found;
}

std::vector<std::string> FunctionSearch::names() {
    std::set<std::string> names;
    for (Unit& unit : units_.all()) {
        scan(unit);
        for (uint32_t i = 0; i < unit.functions.size(); i++) {
            FunctionRef function{&unit, i};
            const char* bare = function->has_code && !function->declaration ? units_.bare_name(function) : nullptr;
            if (!bare)
                continue;
            names.insert(
                is_c_language(unit.language) || unit.language == DW_LANG_Go ? bare : without_template_arguments(bare));
            if (!is_c_language(unit.language))
                names.insert(units_.qualified_name(function));
        }
    }
    for (const Ifuncs::Ifunc& ifunc : ifuncs_.all())
        names.emplace(ifunc.name);
    for (const CodeSymbol& symbol : symbols_.all()) {
        FunctionRef around = enclosing_subprogram(units_.function_at(symbol.address));
        const FunctionInstance* known = instances_.of(around);
        // A mangled name is not useful if the demangled one is in the list.
        if (!known || (known->entry == symbol.address && !symbol.name.starts_with("_Z")))
            names.emplace(symbol.name);
    }
    names.erase("");
    return {names.begin(), names.end()};
}

// In the debug information, a part has the name of its function.
bool FunctionSearch::is_part(const FunctionInstance& function) {
    bool part = false;
    for (auto at = symbols_.first_from(function.entry);
         !function.inlined && at != symbols_.all().end() && at->address == function.entry; ++at) {
        part = is_moved_part(at->name) || is_later_part(at->name);
        if (!part)
            return false;
    }
    return part;
}

bool FunctionSearch::symbol_has_name(const CodeSymbol& symbol, const FunctionPattern& pattern) {
    if (is_later_part(symbol.name)) // found by its exact name only
        return glob_match(pattern.function, symbol.name);
    if (symbols_.is_go_function(symbol.address))
        return go_name_matches(pattern.function, symbol.name);
    // `*f*` should match the demangled name, not letters in the mangled one, which contains the types of parameters.
    auto is_wanted_mangled = [&] {
        return pattern.function.starts_with("_") || pattern.function == "*" || !is_mangled(symbol.name) ||
               !demangle(symbol.name);
    };
    return (glob_match(pattern.function, symbol.name) && is_wanted_mangled()) ||
           symbol_matches(pattern.function, symbol.name);
}

// Adds the function of a matching symbol, if debug information has not found it by its name.
void FunctionSearch::add_symbol(const CodeSymbol& symbol, const FunctionPattern& pattern,
                                std::vector<FunctionInstance>& found) {
    FunctionRef around = enclosing_subprogram(units_.function_at(symbol.address));
    const FunctionInstance* known = instances_.of(around);
    if (!known) {
        FunctionInstance candidate = instances_.of_symbol(symbol);
        if (pattern.parameters.empty() || same_parameters(pattern.parameters, variables_.signature(candidate))) {
            add_thunks(candidate, found);
            found.push_back(std::move(candidate));
        }
        return;
    }
    // The symbol is a part that the compiler split off ("f.cold"), or it does not match.
    if (known->entry != symbol.address || !pattern.parameters.empty() ||
        (has_wildcard(pattern.function) && (!glob_match(pattern.function, symbol.name) || is_later_part(symbol.name))))
        return;
    // The symbol is another name of a function that was found under its first name. For a pattern, keep the function's
    // own name.
    found.push_back(*known);
    if (has_wildcard(pattern.function))
        return;
    std::optional<std::string> plain = pattern.function.starts_with("_") ? std::nullopt : demangle(symbol.name);
    found.back().name = plain ? symbol_name(*plain) : std::string(symbol.name);
}

void FunctionSearch::add_symbols(const FunctionPattern& pattern, const std::set<Address>& entries,
                                 std::vector<FunctionInstance>& found) {
    // Files and lines exist only in debug information.
    if (!pattern.file.empty() || pattern.line_kind != FunctionPattern::None)
        return;
    bool wildcard = has_wildcard(pattern.function);
    const std::vector<CodeSymbol>& all = symbols_.all();
    for (size_t at = 0; at < all.size();) {
        const CodeSymbol* best = nullptr;
        const Address address = all[at].address;
        for (; at < all.size() && all[at].address == address; at++)
            if (symbol_has_name(all[at], pattern) && (!best || is_better(all[at], *best)))
                best = &all[at];
        if (!best || entries.contains(address))
            continue;
        // Moved parts and thunks are not functions of the source. You can probe them by their exact names.
        const bool is_named = pattern.function.starts_with("_") || pattern.function.find("thunk") != std::string::npos;
        if (wildcard && (is_moved_part(best->name) || (is_thunk(best->name) && !is_named)))
            continue;
        if (!pattern.function.starts_with("_Z") && variants_.runs_another(address))
            continue;
        add_symbol(*best, pattern, found);
    }
}

// Adds the implementations that a matching IFUNC can choose, under the name of the IFUNC.
void FunctionSearch::add_chosen(const FunctionPattern& pattern, const std::set<Address>& entries,
                                std::vector<FunctionInstance>& found) {
    if (!pattern.file.empty() || !pattern.parameters.empty() || pattern.line_kind != FunctionPattern::None)
        return;
    for (const Ifuncs::Ifunc& ifunc : ifuncs_.all()) {
        if (!glob_match(pattern.function, ifunc.name) && !symbol_matches(pattern.function, ifunc.name))
            continue;
        for (auto [low, high] : ifuncs_.implementations(ifunc.resolver)) {
            if (entries.contains(low) ||
                std::ranges::any_of(found, [&](const auto& one) { return !one.inlined && one.entry == low; }))
                continue;
            FunctionInstance function = instances_.of_symbol({ifunc.name, low, high - low, ifunc.global});
            const FunctionInstance* known = instances_.of(enclosing_subprogram(units_.function_at(low)));
            if (known && known->entry == low) {
                const std::string name = std::move(function.name);
                function = *known;
                function.name = name;
            }
            function.is_chosen = true;
            found.push_back(std::move(function));
        }
    }
}

// With `f@@V1`, the pattern's file begins with another `@`, and only the default version matches.
void FunctionSearch::add_versions(const FunctionPattern& pattern, std::vector<FunctionInstance>& found) {
    const bool is_default = pattern.file.starts_with('@');
    FunctionPattern named = pattern;
    named.file.clear();
    std::vector<FunctionInstance> all;
    for (const VersionedSymbol& symbol : read_symbol_versions(file_.elf())) {
        if (symbol.version != pattern.file.substr(is_default ? 1 : 0) || (is_default && !symbol.is_default) ||
            !glob_match(pattern.function, symbol.name))
            continue;
        if (all.empty())
            all = find(named);
        for (const FunctionInstance& one : all) {
            const bool is_its_choice =
                one.is_chosen && std::ranges::any_of(ifuncs_.all(), [&](const Ifuncs::Ifunc& ifunc) {
                    return ifunc.resolver == symbol.address && ifunc.name == symbol.name;
                });
            if (!one.inlined && (one.entry == symbol.address || is_its_choice))
                found.push_back(one);
        }
    }
}

} // namespace sonde
