// Finds the entries of the procedure linkage table. Each entry jumps through a slot of the global offset table, and a
// relocation tells which symbol's address the slot will hold. So entries are found by their jump instructions.
//
// The names of their sections and the shapes of the entries depend on the architecture.
#include "frontend/machine/plt.h"

#include <algorithm>
#include <map>

#include "arch/architecture.h"
#include "base/program_identity.h"
#include "frontend/machine/relocations.h"

namespace sonde {
namespace {

// Maps slots to the names of their symbols.
std::map<uint64_t, std::string> read_slots(const ElfFile& file) {
    std::map<uint64_t, std::string> slots;
    for_each_relocation(file, [&](const Relocation& relocation) {
        if (relocation.is_to_symbol() && !relocation.name.empty())
            slots[relocation.slot] = relocation.name;
    });
    return slots;
}

} // namespace

std::vector<PltEntry> read_plt(const ElfFile& file) {
    std::vector<PltEntry> out;
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    if (!architecture || architecture->plt_sections().empty())
        return out;
    std::map<uint64_t, std::string> slots = read_slots(file);
    for (const auto& [section_name, alignment, least_size] : architecture->plt_sections()) {
        const ElfSection* section = file.find_section(section_name);
        if (!section || section->type == SHT_NOBITS)
            continue;
        // Do not read from libelf's mapping. The kernel writes the breakpoints of running sessions into every private
        // mapping of a file, and a probed entry would not look like a jump there.
        const Result<std::string> bytes = read_at(file.fd(), section->offset, section->size);
        if (!bytes)
            continue;
        const std::string_view code = *bytes;
        for (size_t at = 0; at < code.size();) {
            const std::optional<uint64_t> place = architecture->plt_slot(code.substr(at), section->address + at);
            if (auto slot = place ? slots.find(*place) : slots.end(); slot != slots.end())
                out.push_back({slot->second, section->address + at});
            // The rest of an entry can look like an entry without its first instruction.
            at += place ? least_size : alignment;
        }
    }
    std::sort(out.begin(), out.end(), [](const PltEntry& a, const PltEntry& b) { return a.address < b.address; });
    return out;
}

} // namespace sonde
