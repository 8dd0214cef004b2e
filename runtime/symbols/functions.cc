// Reads the functions of a program or library.
//
// A file has more symbols than functions. Several names can have one address (`malloc`, `__libc_malloc`), labels lie
// inside of functions, and hand-written assembly lacks sizes. From all of these, read_functions() makes a list without
// overlaps, in which each address has one name.
//
// The compiler can split a function. The part that is rarely executed is then elsewhere:
//
//     1000    f          hot part
//     9000    f.cold     error handling, reached by a jump from f
//
// A stack that goes through 9000 must show `f`, with an offset from 1000. join_parts() gives the part the name of its
// function. The name alone is not enough: two source files can each have a static function `f`, and then both have an
// `f.cold`. In the symbol table, local symbols follow the name of their source file (STT_FILE), which tells the two
// apart.
#include "runtime/symbols/functions.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/debug_file.h"
#include "base/demangle.h"
#include "base/symbol_parts.h"

namespace sonde {
namespace {

struct Candidate {
    ElfSymbol symbol;
    int source = 0; // index of the source file (STT_FILE), for local symbols

    // Orders the names of one address. Each rule applies if those before it do not decide:
    // * Symbols with a size come first.
    // * In the vDSO (vdso(7)), `__vdso_` names come first: they cannot be confused with functions of the C library.
    // * Fewer leading underscores come first: malloc before __libc_malloc.
    // * Global symbols come first, then weak ones, then local ones.
    // * Shorter names come first.
    auto rank() const {
        size_t underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
        int binding = symbol.binding == STB_GLOBAL ? 0 : symbol.binding == STB_WEAK ? 1 : 2;
        const bool vdso = symbol.name.starts_with("__vdso_");
        return std::tuple(symbol.size == 0, !vdso, underscores, binding, symbol.name.size(), symbol.name);
    }
};

// Finds the function that a moved part (`f.cold`) belongs to, by the name of its symbol.
class WholeFunctions {
  public:
    explicit WholeFunctions(const std::vector<Candidate>& all) {
        for (const Candidate& one : all)
            if (is_moved_part(one.symbol.name))
                named_.try_emplace(moved_from(one.symbol.name));
        for (const Candidate& one : all)
            if (auto found = named_.find(one.symbol.name); found != named_.end())
                found->second.push_back(&one);
    }
    // Returns 0 if `part` is not a moved part, or if several functions have the name. Static functions `f` in two
    // source files both have an `f.cold`. The right one comes from the same source file as the part.
    uint64_t address_of(const Candidate& part) const {
        const auto found = named_.find(moved_from(part.symbol.name));
        uint64_t out = 0;
        for (const Candidate* one : found == named_.end() ? std::span<const Candidate* const>() : found->second) {
            const bool is_local = one->symbol.binding == STB_LOCAL;
            if (is_local && one->source == part.source)
                return one->symbol.address;
            if (!is_local && out != 0 && out != one->symbol.address)
                return 0;
            if (!is_local)
                out = one->symbol.address;
        }
        return out;
    }

  private:
    std::unordered_map<std::string_view, std::vector<const Candidate*>> named_;
};

// Gives each moved part in `functions` the name and the address of its function. `all` has the symbols of all
// functions.
void join_parts(const std::vector<Candidate>& all, std::vector<FunctionSymbol>& functions) {
    const WholeFunctions whole(all);
    for (const Candidate& part : all) {
        const uint64_t address = is_moved_part(part.symbol.name) ? whole.address_of(part) : 0;
        const auto at = std::ranges::lower_bound(functions, part.symbol.address, {}, &FunctionSymbol::address);
        const auto function = std::ranges::lower_bound(functions, address, {}, &FunctionSymbol::address);
        if (address == 0 || at == functions.end() || at->address != part.symbol.address ||
            function == functions.end() || function->address != address || at == function)
            continue;
        at->name = function->name;
        at->moved_from = address;
    }
}

} // namespace

// Symbols come from .symtab and .dynsym. A stripped file has its full symbols in a separate debug file, or compressed
// in .gnu_debugdata (open_packed_symbols). Sizes are limited to the next symbol and to the end of the segment.
std::vector<FunctionSymbol> read_functions(const ElfFile& file) {
    std::vector<Candidate> all;
    std::vector<std::pair<uint64_t, uint64_t>> code; // executable segments
    for (const ElfSegment& segment : file.segments())
        if (segment.executable)
            code.emplace_back(segment.address, segment.address + segment.memory_size);
    auto end_of_code = [&](uint64_t address) -> uint64_t {
        for (auto [begin, end] : code)
            if (address >= begin && address < end)
                return end;
        return 0;
    };
    int source = 0;
    auto take = [&](const ElfSymbol& symbol) {
        source += symbol.type == STT_FILE;
        bool function =
            symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC || (symbol.type == STT_NOTYPE && symbol.size != 0);
        if (function && symbol.section != SHN_UNDEF && end_of_code(symbol.address) != 0)
            all.push_back({symbol, source});
        return true;
    };
    file.for_each_symbol(take);
    std::optional<ElfFile> beside; // has the symbols of a stripped file
    if (!file.find_section(".symtab"))
        beside = find_debug_file(file);
    if (!beside && !file.find_section(".symtab"))
        beside = open_packed_symbols(file);
    if (beside)
        beside->for_each_symbol(take);
    std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
        if (a.symbol.address != b.symbol.address)
            return a.symbol.address < b.symbol.address;
        return a.rank() < b.rank();
    });
    std::vector<FunctionSymbol> out;
    for (const auto& [symbol, from] : all) {
        if (!out.empty() && out.back().address == symbol.address)
            continue;
        // A label inside a function, not a function.
        if (!out.empty() && symbol.size == 0 && symbol.address - out.back().address < out.back().size)
            continue;
        out.push_back({symbol.address, symbol.size, readable_symbol(symbol.name)});
    }
    for (size_t i = 0; i < out.size(); i++) {
        uint64_t most = end_of_code(out[i].address) - out[i].address;
        if (i + 1 < out.size())
            most = std::min(most, out[i + 1].address - out[i].address);
        out[i].size = out[i].size == 0 ? most : std::min(out[i].size, most);
    }
    // In Go programs, a function may really be named `cold`, and all names contain a dot.
    if (!file.find_section(".gopclntab"))
        join_parts(all, out);
    return out;
}

} // namespace sonde
