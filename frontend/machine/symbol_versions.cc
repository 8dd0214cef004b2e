// Three sections belong together: .dynsym has the symbols, .gnu.version has a number for each symbol, and
// .gnu.version_d has the names for these numbers. The highest bit of a number marks versions that only old programs use
// (`f@V1`).
//
// The sections come from an untrusted file, so each offset is checked before it is used.
#include "frontend/machine/symbol_versions.h"

#include <elf.h>

#include <map>

#include "base/byte_cursor.h"

namespace sonde {
namespace {

// Returns the names of the versions that the file defines, by their numbers.
std::map<uint16_t, std::string_view> read_names(std::string_view definitions, std::string_view strings) {
    constexpr int most = 0x7fff;
    std::map<uint16_t, std::string_view> names;
    uint64_t at = 0;
    for (int i = 0; i < most; i++) {
        const auto definition = value_at<Elf64_Verdef>(definitions, at);
        const auto name = definition ? value_at<Elf64_Verdaux>(definitions, at + definition->vd_aux) : std::nullopt;
        if (!name || name->vda_name >= strings.size())
            break;
        names[definition->vd_ndx] = strings.data() + name->vda_name;
        if (definition->vd_next == 0)
            break;
        at += definition->vd_next;
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
    const std::vector<Elf64_Sym> all = values_in<Elf64_Sym>(symbols);
    const std::vector<uint16_t> versions = values_in<uint16_t>(numbers);
    for (size_t i = 1; i < std::min(all.size(), versions.size()); i++) {
        constexpr uint16_t hidden = 0x8000;
        const Elf64_Sym& symbol = all[i];
        const uint16_t number = versions[i];
        auto name = names.find(number & ~hidden);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.size() || name == names.end())
            continue;
        out.push_back({strings.data() + symbol.st_name, name->second, symbol.st_value, (number & hidden) == 0});
    }
    return out;
}

} // namespace sonde
