// Finds the entries of the procedure linkage table. Each entry jumps through a slot of the global offset table, and a
// relocation tells which symbol's address the slot will hold. So entries are found by their jump instructions.
//
// Linkers place them in several sections: .plt, .plt.sec (with -fcf-protection, where .plt has only the code for lazy
// binding) and .plt.got. Source: System V psABI for x86-64, section 5.2, "Procedure Linkage Table".
#include "frontend/machine/plt.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/program_identity.h"
#include "frontend/machine/relocations.h"

namespace sonde {
namespace {

// Maps slots to the names of their symbols.
std::map<uint64_t, std::string> read_slots(const ElfFile& file) {
    std::map<uint64_t, std::string> slots;
    for_each_relocation(file, [&](const Relocation& relocation) {
        if ((relocation.type == R_X86_64_JUMP_SLOT || relocation.type == R_X86_64_GLOB_DAT) && !relocation.name.empty())
            slots[relocation.slot] = relocation.name;
    });
    return slots;
}

} // namespace

std::vector<PltEntry> read_plt(const ElfFile& file) {
    constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa", bnd = "\xf2", jump = "\xff\x25"; // jmp *slot(%rip)
    std::vector<PltEntry> out;
    if (file.machine() != EM_X86_64)
        return out;
    std::map<uint64_t, std::string> slots = read_slots(file);
    for (const auto& [section_name, entry_size] : {std::pair(".plt", 16), {".plt.sec", 16}, {".plt.got", 8}}) {
        const ElfSection* section = file.find_section(section_name);
        if (!section || section->type == SHT_NOBITS)
            continue;
        // Do not read from libelf's mapping. The kernel writes the breakpoints of running sessions into every private
        // mapping of a file, and a probed entry would not look like a jump there.
        const Result<std::string> bytes = read_at(file.fd(), section->offset, section->size);
        if (!bytes)
            continue;
        std::string_view code = *bytes;
        for (size_t at = 0; at < code.size(); at += static_cast<size_t>(entry_size)) {
            size_t jump_at = at;
            // `endbr64` (with -fcf-protection) and `bnd` (with -mmpx) may precede the jump.
            for (std::string_view prefix : {endbr64, bnd})
                if (code.substr(jump_at).starts_with(prefix))
                    jump_at += prefix.size();
            if (!code.substr(jump_at).starts_with(jump) || jump_at + 6 > code.size())
                continue;
            int32_t distance = 0;
            std::memcpy(&distance, code.data() + jump_at + jump.size(), sizeof distance);
            uint64_t behind = section->address + jump_at + jump.size() + sizeof distance;
            auto slot = slots.find(behind + static_cast<uint64_t>(int64_t{distance}));
            if (slot != slots.end())
                out.push_back({slot->second, section->address + at});
        }
    }
    std::sort(out.begin(), out.end(), [](const PltEntry& a, const PltEntry& b) { return a.address < b.address; });
    return out;
}

} // namespace sonde
