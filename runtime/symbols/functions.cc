#include "runtime/symbols/functions.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/debug_file.h"
#include "base/demangle.h"

namespace sonde {
namespace {

struct Candidate {
    ElfSymbol symbol;

    // The best name first: with a size, global, then weak, then local; malloc before __libc_malloc. The kernel's own
    // code in processes (vdso(7)) goes by its full names, which tell it from the C library's functions.
    auto rank() const {
        size_t underscores = std::min(symbol.name.find_first_not_of('_'), symbol.name.size());
        int binding = symbol.binding == STB_GLOBAL ? 0 : symbol.binding == STB_WEAK ? 1 : 2;
        const bool vdso = symbol.name.starts_with("__vdso_");
        return std::tuple(symbol.size == 0, !vdso, underscores, binding, symbol.name.size(), symbol.name);
    }
};

} // namespace

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
    auto take = [&](const ElfSymbol& symbol) {
        bool function =
            symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC || (symbol.type == STT_NOTYPE && symbol.size != 0);
        if (function && symbol.section != SHN_UNDEF && end_of_code(symbol.address) != 0)
            all.push_back({symbol});
        return true;
    };
    file.for_each_symbol(take);
    std::optional<ElfFile> beside; // a stripped file's own functions are there
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
    for (const auto& [symbol] : all) {
        if (!out.empty() && out.back().address == symbol.address)
            continue;
        // A label within a function is no function.
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
    return out;
}

} // namespace sonde
