// A resolver cannot be run here: its answer depends on the processor and the environment of each process. But it is
// short, and returns one of several addresses, which are constants in its code. All of them are found by decoding:
//
//   lea  __memcpy_avx_unaligned(%rip),%rax     position-independent code
//   mov  slot(%rip),%rax                       through a slot that the loader fills
//   mov  $0x401000,%eax                        fixed addresses
//
// An address counts only if a function begins there, so that other constants do no harm. An implementation that is
// missing here would be called without a hit.
#include "frontend/dwarf/ifuncs.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>

#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/unwind_table.h"
#include "frontend/machine/page_addresses.h"
#include "frontend/machine/relocations.h"

namespace sonde {

const std::vector<Ifuncs::Ifunc>& Ifuncs::all() {
    if (loaded_)
        return all_;
    loaded_ = true;
    if (file_.is_32_bit())
        return all_;
    file_.elf().for_each_symbol([&](const ElfSymbol& symbol) {
        if (symbol.type == STT_GNU_IFUNC && symbol.section != SHN_UNDEF && file_.is_executable(symbol.address))
            all_.push_back({symbol.name.substr(0, symbol.name.find('@')), symbol.address, symbol.binding != STB_LOCAL});
        return true;
    });
    const auto key = [](const Ifunc& one) { return std::tuple(one.name, one.resolver); };
    std::ranges::sort(all_, {}, key);
    all_.erase(std::ranges::unique(all_, {}, key).begin(), all_.end());
    return all_;
}

// Decodes the resolver and collects all addresses in it that are the beginning of a function: operands of lea, of mov
// from a slot, and immediates.
std::vector<std::pair<Address, Address>> Ifuncs::implementations(Address resolver) {
    std::vector<std::pair<Address, Address>> out;
    std::optional<Stretch> stretch = code_.stretch_at(resolver);
    if (!stretch || stretch->low != resolver)
        return out;
    auto add = [&](Address address) {
        const UnwindEntry* entry = file_.is_executable(address) ? unwind_.at(address) : nullptr;
        if (entry && entry->low == address && address != resolver)
            out.emplace_back(entry->low, entry->high);
    };
    const std::string bytes = file_.code(stretch->low, stretch->high);
    PageAddresses pages;
    for (size_t at = 0; at < bytes.size();) {
        std::optional<Instruction> one = file_.architecture().decode(std::string_view(bytes).substr(at));
        if (!one)
            break;
        at += one->length;
        pages.complete(*one, resolver + at);
        if (one->memory.page != 0)
            continue;
        const Address named = one->memory.address(resolver + at);
        if (one->operation == Operation::Address && one->memory.is_fixed)
            add(named);
        else if (one->operation == Operation::Load && one->memory.is_fixed) // from a slot that the loader fills
            for_each_relocation(file_.elf(), [&](const Relocation& relocation) {
                if (relocation.slot == named)
                    add(relocation.symbol.st_shndx != SHN_UNDEF ? relocation.symbol.st_value
                                                                : static_cast<Address>(relocation.addend));
            });
        else if (one->operation == Operation::Constant)
            add(static_cast<Address>(one->immediate));
    }
    std::ranges::sort(out);
    out.erase(std::ranges::unique(out).begin(), out.end());
    return out;
}

} // namespace sonde
