// Three sections belong together: .dynsym has the symbols, .gnu.version has a number for each symbol, and
// .gnu.version_d has the names for these numbers. The highest bit of a number marks versions that only old programs use
// (`f@V1`).
//
// The sections come from an untrusted file, so each offset is checked before it is used.
#include "frontend/machine/symbol_versions.h"

#include <elf.h>

#include <cstring>
#include <map>

namespace sonde {
namespace {

// Reads a structure from the section. Returns false if it is cut off.
template <typename T> bool read_at(std::string_view data, uint64_t at, T& out) {
    if (at > data.size() || data.size() - at < sizeof out)
        return false;
    memcpy(&out, data.data() + at, sizeof out);
    return true;
}

// Returns the names of the versions that the file defines, by their numbers.
std::map<uint16_t, std::string_view> read_names(std::string_view definitions, std::string_view strings) {
    constexpr int most = 0x7fff;
    std::map<uint16_t, std::string_view> names;
    uint64_t at = 0;
    for (int i = 0; i < most; i++) {
        Elf64_Verdef definition;
        Elf64_Verdaux name;
        if (!read_at(definitions, at, definition) || !read_at(definitions, at + definition.vd_aux, name) ||
            name.vda_name >= strings.size())
            break;
        names[definition.vd_ndx] = strings.data() + name.vda_name;
        if (definition.vd_next == 0)
            break;
        at += definition.vd_next;
    }
    return names;
}

} // namespace

std::vector<VersionedSymbol> read_symbol_versions(const ElfFile& file) {
    std::vector<VersionedSymbol> out;
    const std::string_view strings = file.section_data(".dynstr"), symbols = file.section_data(".dynsym");
    const std::string_view numbers = file.section_data(".gnu.version");
    if (strings.empty() || strings.back() != '\0' || numbers.empty() || file.is_32_bit())
        return out;
    const std::map<uint16_t, std::string_view> names = read_names(file.section_data(".gnu.version_d"), strings);
    Elf64_Sym symbol;
    uint16_t number = 0;
    for (uint64_t i = 1; read_at(symbols, i * sizeof symbol, symbol) && read_at(numbers, i * sizeof number, number);
         i++) {
        constexpr uint16_t hidden = 0x8000;
        auto name = names.find(number & ~hidden);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.size() || name == names.end())
            continue;
        out.push_back({strings.data() + symbol.st_name, name->second, symbol.st_value, (number & hidden) == 0});
    }
    return out;
}

} // namespace sonde
