// Names come from up to four tables, which overlap: the program's own, that of the separate debug file, the compressed
// one in .gnu_debugdata, and Go's own table. They are merged into one sorted list without duplicates.
//
// Not every symbol of type STT_FUNC is a function. Imports have no section, and the value of an IFUNC symbol is a
// resolver (ifuncs.h). Assemblers also mark data as functions, so a symbol counts only if its address is in an
// executable section.
//
// Several names for one address are kept: `memcpy` and `__memcpy_avx` may be the same code, and a script may use
// either.
#include "frontend/dwarf/symbol_tables.h"

#include <elf.h>

#include <algorithm>
#include <map>

#include "base/debug_file.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {

const std::vector<CodeSymbol>& SymbolTables::all() {
    if (loaded_)
        return all_;
    loaded_ = true;
    // An executable segment may also contain data.
    std::vector<std::pair<Address, Address>> code;
    for (const ElfSection& section : file_.elf().sections())
        if ((section.flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
            code.emplace_back(section.address, section.address + section.size);
    auto is_code = [&](Address address) {
        return file_.is_executable(address) &&
               (code.empty() || std::any_of(code.begin(), code.end(), [&](const auto& one) {
                    return address >= one.first && address < one.second;
                }));
    };
    // Distributions put compressed symbols into stripped programs (.gnu_debugdata). They are only needed without a
    // debug file.
    const ElfFile* separate = debug_.separate();
    if (!separate)
        packed_ = open_packed_symbols(file_.elf(), {.problems = &debug_.noted_problems()});
    const ElfFile* packed = packed_ ? &*packed_ : nullptr;
    for (const ElfFile* file : {&file_.elf(), separate, packed}) {
        if (!file)
            continue;
        file->for_each_symbol([&](const ElfSymbol& symbol) {
            // STT_GNU_IFUNC is a resolver, not the function. An undefined symbol is an import (PLT).
            if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && is_code(symbol.address))
                all_.push_back({symbol.name, symbol.address, symbol.size, symbol.binding != STB_LOCAL});
            return true;
        });
    }
    // A stripped Go program has its own table of functions.
    std::set<Address> known;
    for (const CodeSymbol& symbol : all_)
        known.insert(symbol.address);
    for (const GoFunction& function : go_functions())
        if (file_.is_executable(function.address) && !known.contains(function.address))
            all_.push_back({function.name, function.address, function.size, true});
    std::sort(all_.begin(), all_.end(), [](const CodeSymbol& a, const CodeSymbol& b) {
        return a.address != b.address ? a.address < b.address : a.name < b.name;
    });
    auto same = [](const CodeSymbol& a, const CodeSymbol& b) { return a.address == b.address && a.name == b.name; };
    all_.erase(std::unique(all_.begin(), all_.end(), same), all_.end());
    return all_;
}

SymbolTables::Iterator SymbolTables::first_from(Address address) {
    return std::lower_bound(all().begin(), all().end(), address,
                            [](const CodeSymbol& symbol, Address wanted) { return symbol.address < wanted; });
}

SymbolTables::Iterator SymbolTables::first_after(Address address) {
    return std::upper_bound(all().begin(), all().end(), address,
                            [](Address wanted, const CodeSymbol& symbol) { return wanted < symbol.address; });
}

std::optional<std::pair<std::string, Address>> SymbolTables::at(Address address) {
    const CodeSymbol* best = nullptr;
    // Go back from the address to the nearest symbol that covers it. Among several symbols at the same address, a
    // global one is better: it is the name that users know. If the nearest symbol does not cover the address, the
    // address is in a gap between functions.
    for (auto at = first_after(address); at != all_.begin() && (!best || std::prev(at)->address == best->address);) {
        --at;
        bool covers = address == at->address || address - at->address < at->size;
        if (covers && (!best || at->global))
            best = &*at;
        if (!covers && !best)
            break;
    }
    if (!best)
        return std::nullopt;
    return std::pair(std::string(best->name), best->address);
}

bool SymbolTables::is_ambiguous(std::string_view name) {
    if (!ambiguous_) {
        ambiguous_.emplace();
        std::map<std::string_view, Address> seen;
        for (const CodeSymbol& symbol : all())
            if (auto [at, fresh] = seen.try_emplace(symbol.name, symbol.address);
                !fresh && at->second != symbol.address)
                ambiguous_->insert(symbol.name);
    }
    return ambiguous_->contains(name);
}

// A kernel probe is given as a symbol and an offset. If the nearest symbol's name is not unique, use an earlier one.
std::optional<std::pair<std::string, Address>> SymbolTables::unique_before(Address address) {
    for (auto at = first_after(address);
         at != all_.begin() && file_.elf().same_segment(std::prev(at)->address, address); --at)
        if (!is_ambiguous(std::prev(at)->name))
            return std::pair(std::string(std::prev(at)->name), std::prev(at)->address);
    return std::nullopt;
}

// The same for variables. The list of variables is long and rarely needed, so it is not kept.
std::optional<std::pair<std::string, Address>> SymbolTables::unique_variable_before(Address address) const {
    std::map<std::string_view, int> count;
    std::map<Address, std::string_view> places;
    file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.type == STT_OBJECT && symbol.section != SHN_UNDEF) {
            count[symbol.name]++;
            if (symbol.address <= address && file_.elf().same_segment(symbol.address, address))
                places.emplace(symbol.address, symbol.name);
        }
        return true;
    });
    for (auto at = places.rbegin(); at != places.rend(); ++at)
        if (count[at->second] == 1)
            return std::pair(std::string(at->second), at->first);
    return std::nullopt;
}

std::optional<Address> SymbolTables::address_of(std::string_view name) {
    std::optional<Address> found;
    for (const ElfFile* file : {&file_.elf(), debug_.separate()})
        if (file && !found)
            file->for_each_symbol([&](const ElfSymbol& symbol) {
                if (symbol.name == name && symbol.section != SHN_UNDEF)
                    found = symbol.address;
                return !found;
            });
    return found;
}

bool SymbolTables::is_variable(Address address) {
    bool data = false;
    for (const ElfFile* file : {&file_.elf(), debug_.separate()})
        if (file && !data)
            file->for_each_symbol([&](const ElfSymbol& symbol) {
                data = symbol.type == STT_OBJECT && address >= symbol.address &&
                       address - symbol.address < symbol.size && symbol.section != SHN_UNDEF;
                return !data;
            });
    return data;
}

const std::vector<GoFunction>& SymbolTables::go_functions() {
    if (!go_functions_) {
        std::string_view table = file_.elf().section_data(".gopclntab");
        if (table.empty()) // in position-independent programs
            table = file_.elf().section_data(".data.rel.ro.gopclntab");
        const ElfSection* text = file_.elf().find_section(".text");
        go_functions_ = read_go_functions(table, text ? text->address : 0);
    }
    return *go_functions_;
}

bool SymbolTables::is_go_function(Address entry) {
    const std::vector<GoFunction>& all = go_functions();
    auto found = std::lower_bound(all.begin(), all.end(), entry,
                                  [](const GoFunction& one, Address address) { return one.address < address; });
    return found != all.end() && found->address == entry;
}

} // namespace sonde
