#include "frontend/machine/relocations.h"

#include <cstring>

#include "arch/architecture.h"

namespace sonde {

// Skips an incomplete symbol instead of failing: a damaged file must not prevent probes in the rest of the program.
void for_each_relocation(const ElfFile& file, const std::function<void(const Relocation&)>& visit) {
    std::string_view symbols = file.section_data(".dynsym"), strings = file.section_data(".dynstr");
    if (strings.empty() || strings.back() != '\0')
        return;
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    for (const char* section : {".rela.plt", ".rela.dyn"}) {
        std::string_view entries = file.section_data(section);
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= entries.size(); at += sizeof(Elf64_Rela)) {
            Elf64_Rela entry;
            std::memcpy(&entry, entries.data() + at, sizeof entry);
            Relocation out{.slot = entry.r_offset,
                           .kind = architecture ? architecture->dynamic_relocation(
                                                      static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)))
                                                : DynamicRelocation::Other,
                           .addend = entry.r_addend,
                           .name = {}};
            size_t symbol_at = ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym);
            if (symbol_at != 0 && symbol_at + sizeof(Elf64_Sym) <= symbols.size()) {
                std::memcpy(&out.symbol, symbols.data() + symbol_at, sizeof out.symbol);
                if (out.symbol.st_name != 0 && out.symbol.st_name < strings.size())
                    out.name = strings.data() + out.symbol.st_name;
            }
            visit(out);
        }
    }
}

} // namespace sonde
