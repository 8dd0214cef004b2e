#include "frontend/machine/relocations.h"

#include "arch/architecture.h"
#include "base/byte_cursor.h"

namespace sonde {

// Skips an incomplete symbol instead of failing: a damaged file must not prevent probes in the rest of the program.
void for_each_relocation(const ElfFile& file, const std::function<void(const Relocation&)>& visit) {
    std::string_view symbols = file.section_data(".dynsym"), strings = file.section_data(".dynstr");
    if (strings.empty() || strings.back() != '\0')
        return;
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    for (const char* section : {".rela.plt", ".rela.dyn"}) {
        std::string_view entries = file.section_data(section);
        for (const Elf64_Rela& entry : values_in<Elf64_Rela>(entries)) {
            Relocation out{.slot = entry.r_offset,
                           .kind = architecture ? architecture->dynamic_relocation(
                                                      static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)))
                                                : DynamicRelocation::Other,
                           .addend = entry.r_addend,
                           .name = {}};
            const uint64_t symbol_at = ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym);
            if (const auto symbol = value_at<Elf64_Sym>(symbols, symbol_at); symbol && symbol_at != 0) {
                out.symbol = *symbol;
                if (out.symbol.st_name != 0 && out.symbol.st_name < strings.size())
                    out.name = strings.data() + out.symbol.st_name;
            }
            visit(out);
        }
    }
}

} // namespace sonde
