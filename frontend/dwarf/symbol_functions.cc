// Functions that the symbol table knows: all of them in a stripped program, those of other compilers and of assembly in
// one with debug information. A function is found once, whatever names its address has.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/demangle.h"
#include "base/glob.h"
#include "frontend/dwarf/reader.h"

namespace sonde {
namespace {

// A part that the compiler has moved away from a function; nobody calls it.
bool is_cold_part(std::string_view name) { return name.ends_with(".cold"); }

// The rest of a function whose beginning is inlined; what calls it has begun the function already.
bool is_later_part(std::string_view name) { return name.find(".part.") != std::string_view::npos; }

bool is_mangled(std::string_view name) { return name.starts_with("_Z") || name.starts_with("_R"); }

// Of several names of one address, the one that a program's author would write.
bool is_better(const Symbol& one, const Symbol& other) {
    auto rank = [](const Symbol& symbol) {
        size_t underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
        return std::tuple(!symbol.global, is_mangled(symbol.name) ? 0 : underscores, symbol.name.size(), symbol.name);
    };
    return rank(one) < rank(other);
}

} // namespace

// Debug information gives a part its function's own name.
bool DwarfReader::is_part(const FunctionInstance& function) {
    bool part = false;
    for (auto at = symbols_.first_from(function.entry);
         !function.inlined && at != symbols_.all().end() && at->address == function.entry; ++at) {
        part = is_cold_part(at->name) || is_later_part(at->name);
        if (!part)
            return false;
    }
    return part;
}

bool DwarfReader::symbol_has_name(const Symbol& symbol, const FunctionPattern& pattern) {
    if (is_later_part(symbol.name)) // by its own name only
        return glob_match(pattern.function, symbol.name);
    if (symbols_.is_go_function(symbol.address))
        return go_name_matches(pattern.function, symbol.name);
    // `*f*` means the name as it is listed, not letters of its mangled form, which has the types of parameters in it.
    auto is_wanted_mangled = [&] {
        return pattern.function.starts_with("_") || pattern.function == "*" || !is_mangled(symbol.name) ||
               !demangle(symbol.name);
    };
    return (glob_match(pattern.function, symbol.name) && is_wanted_mangled()) ||
           symbol_matches(pattern.function, symbol.name);
}

void DwarfReader::add_symbol(const Symbol& symbol, const FunctionPattern& pattern,
                             std::vector<FunctionInstance>& found) {
    FunctionRef around = enclosing_subprogram(units_.function_at(symbol.address));
    const FunctionInstance* known = instance(around);
    if (!known) {
        FunctionInstance candidate = symbol_instance(symbol);
        if (pattern.parameters.empty() || same_parameters(pattern.parameters, variables_.signature(candidate)))
            found.push_back(std::move(candidate));
        return;
    }
    // Otherwise it is a part that the compiler split off ("f.cold"), or matched by its own name or not at all.
    if (known->entry != symbol.address || !pattern.parameters.empty() ||
        (has_wildcard(pattern.function) && (!glob_match(pattern.function, symbol.name) || is_later_part(symbol.name))))
        return;
    // Another name of a function that is described under its first one. A pattern finds the function itself.
    found.push_back(*known);
    if (!has_wildcard(pattern.function))
        found.back().name = symbol.name;
}

void DwarfReader::add_symbols(const FunctionPattern& pattern, const std::set<Address>& entries,
                              std::vector<FunctionInstance>& found) {
    // Files and lines are debug information's.
    if (!pattern.file.empty() || pattern.line_kind != FunctionPattern::None)
        return;
    bool wildcard = has_wildcard(pattern.function);
    const std::vector<Symbol>& all = symbols_.all();
    for (size_t at = 0; at < all.size();) {
        const Symbol* best = nullptr;
        const Address address = all[at].address;
        for (; at < all.size() && all[at].address == address; at++)
            if (symbol_has_name(all[at], pattern) && (!best || is_better(all[at], *best)))
                best = &all[at];
        if (!best || entries.contains(address))
            continue;
        if (wildcard && is_cold_part(best->name))
            continue;
        add_symbol(*best, pattern, found);
    }
}

} // namespace sonde
