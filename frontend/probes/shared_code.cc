// Finds functions that share their code. See shared_code.h for the problem; the difficulty is to warn only where it
// matters. Several symbols at one address are usually names that a library's author gave to one function, such as
// `write` and `__write`. A warning for these would be noise. But if a linker has merged two getters of unrelated
// classes, a probe of one of them also counts calls of the other, and the user must know.
#include "frontend/probes/shared_code.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/demangle.h"
#include "base/glob.h"
#include "frontend/dwarf/symbol_text.h"

namespace sonde {
namespace {

constexpr size_t most_names = 4; // maximum number of names in a message

// Returns the common part of the names that a library gives to one function: `write`, `__write` and
// `__GI___libc_write`; `open` and `open64`; `fopen` and `_IO_new_fopen`; `pthread_create` and `__pthread_create_2_1`.
std::string_view plain_name(std::string_view name) {
    constexpr std::string_view prefixes[] = {"_", "libc_", "GI_", "IO_", "new_"};
    for (auto found = std::begin(prefixes); found != std::end(prefixes);) {
        found = std::ranges::find_if(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
        if (found != std::end(prefixes))
            name.remove_prefix(found->size());
    }
    if (name.ends_with("64"))
        name.remove_suffix(2);
    const size_t version = name.find_last_not_of("0123456789_");
    if (version != std::string_view::npos && name.substr(version + 1).starts_with("_"))
        name = name.substr(0, version + 1);
    return name;
}

// Returns the other names of symbols at a function's address, if they belong to separate functions. `only_sure`: only
// names that a compiler has generated for separate functions.
//
//     _ZN4Shop5priceEv and _ZN4Cart5totalEv     two methods that the linker has merged: the other name is returned
//     write and __write                          one function with two names: nothing is returned
//     f and f.cold, f.constprop.0                parts and variants of f: nothing is returned
std::set<std::string> other_names(DwarfModule& module, const FunctionInstance& function, bool only_sure) {
    std::set<std::string> names;
    std::optional<std::string> linkage = demangle(function.linkage_name);
    const std::string own = linkage ? symbol_name(*linkage) : function.name;
    SymbolTables& symbols = module.symbols();
    // The exported names of a library were chosen by its authors, as `free` and `cfree`. They mean one function.
    const std::string_view exported = module.file().elf().section_data(".dynstr");
    const bool has_own_symbols = module.has_debug_info() || module.file().elf().find_section(".symtab");
    // Compilers of other languages create symbols in different ways.
    std::set<std::string_view> all;
    for (auto at = symbols.first_from(function.entry); at != symbols.all().end() && at->address == function.entry; ++at)
        all.insert(at->name);
    if (all.size() == 1 && function.has_debug_info)
        return names;
    for (auto at = symbols.first_from(function.entry); at != symbols.all().end() && at->address == function.entry;
         ++at) {
        std::optional<std::string> plain = demangle(at->name);
        const std::string name = plain ? symbol_name(*plain) : std::string(at->name.substr(0, at->name.find('@')));
        const bool is_same = name == own || at->name == function.linkage_name ||
                             (!linkage && matches_name(name, own)) || plain_name(name) == plain_name(own) ||
                             name.find('.') != std::string::npos;
        const bool is_exported = exported.find(std::string(1, '\0') + name + '\0') != std::string_view::npos;
        if (!is_same && (plain || (!only_sure && has_own_symbols && !is_exported)))
            names.insert(name);
    }
    return names;
}

// The first names, and the number of the others.
std::string list_of(const std::set<std::string>& names) {
    std::vector<std::string> some;
    for (const std::string& name : names)
        if (some.size() < most_names)
            some.push_back(fmt::format("`{}`", name));
    const size_t more = names.size() - some.size();
    return fmt::format("{}{}", fmt::join(some, ", "), more ? fmt::format(" and {} more", more) : "");
}

// Warns of other IFUNCs that may choose the same functions.
void warn_of_ifunc(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern,
                   const std::vector<FunctionInstance>& found) {
    std::set<Address> addresses;
    std::string name;
    for (const FunctionInstance& one : found)
        if (one.is_chosen) {
            addresses.insert(one.entry);
            name = one.name;
        }
    std::set<std::string> ifuncs, others;
    module.file().elf().for_each_symbol([&](const ElfSymbol& symbol) {
        const std::string_view other = symbol.name.substr(0, symbol.name.find('@'));
        if (symbol.type == STT_GNU_IFUNC && symbol.section != SHN_UNDEF && plain_name(other) != plain_name(name))
            ifuncs.emplace(other);
        return true;
    });
    for (const std::string& other : ifuncs) {
        FunctionPattern by_name;
        by_name.function = other;
        const std::vector<FunctionInstance> chosen = module.functions(by_name);
        if (std::ranges::any_of(chosen,
                                [&](const auto& one) { return one.is_chosen && addresses.contains(one.entry); }))
            others.insert(other);
    }
    DiagBuilder report = resolving.diags.report(
        DiagId::SharedCode, pattern.component->arg_range,
        fmt::format("`{}` is an IFUNC: each process chooses one of {} implementations, and sonde probes all", name,
                    addresses.size()));
    if (!others.empty())
        report.note({}, fmt::format("they also implement {}, so the probe also sees their calls", list_of(others)));
    report.help(
        fmt::format("probe `.plt({})` of the calling program to see only its calls by that name", quoted(name)));
}

} // namespace

void keep_one_of_each_code(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern,
                           std::vector<FunctionInstance>& found) {
    const bool wildcard =
        pattern.component->arg == ast::PointComponent::String && has_wildcard(pattern.parsed.function);
    std::map<Address, const FunctionInstance*> first;
    std::map<Address, std::set<std::string>> others; // other names of functions, by address
    for (const FunctionInstance& one : found)
        if (!one.inlined)
            if (auto [at, fresh] = first.try_emplace(one.entry, &one); !fresh && one.name != at->second->name)
                others[one.entry].insert(one.name);
    for (const auto& [entry, function] : first)
        if (!function->is_chosen) // the other names of a chosen implementation are not reported
            others[entry].merge(other_names(module, *function, wildcard));
    std::erase_if(others, [](const auto& one) { return one.second.empty(); });
    const bool is_ifunc = std::ranges::any_of(found, [](const FunctionInstance& one) { return one.is_chosen; });
    if (!resolving.env.listing && !others.empty()) {
        const auto& [entry, names] = *others.begin();
        const std::string& name = first[entry]->name;
        DiagBuilder report = resolving.diags.report(
            DiagId::SharedCode, pattern.component->arg_range,
            others.size() == 1
                ? fmt::format("`{}` has the same code as {}, so the probe sees calls of each", name, list_of(names))
                : fmt::format(
                      "{} of the functions have the same code as others, so the probe also sees calls of the others",
                      others.size()));
        if (others.size() > 1)
            report.note({}, fmt::format("the first is `{}`, the same code as {}", name, list_of(names)));
        report.help("a call is counted once, under the first name; linkers fold equal functions (`--icf=all`), and a "
                    "function can have several names");
    }
    if (!resolving.env.listing && is_ifunc && !wildcard)
        warn_of_ifunc(resolving, module, pattern, found);
    std::vector<FunctionInstance> kept;
    for (FunctionInstance& one : found)
        if (one.inlined || first[one.entry] == &one)
            kept.push_back(std::move(one));
    found = std::move(kept);
}

} // namespace sonde
