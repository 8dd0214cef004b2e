// Checks instructions before they are probed. A probe that the kernel executes wrongly changes the traced program,
// which sonde must never do. So the answer is Hazard::Unknown if anything is unclear, and the session then refuses the
// probe.
#include "frontend/dwarf/probe_safety.h"

#include <elf.h>

#include <algorithm>
#include <string>

#include "arch/architecture.h"
#include "base/byte_cursor.h"
#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/machine/relocations.h"

namespace sonde {
namespace {

// Maximum amount of code that is searched for jumps. In larger programs, no other place is suggested.
constexpr uint64_t most_code = 64 << 20;

} // namespace

bool has_text_relocations(const ElfFile& elf) {
    const std::string_view dynamic = elf.section_data(".dynamic");
    auto is_told = [](uint64_t tag, uint64_t value) {
        return tag == DT_TEXTREL || (tag == DT_FLAGS && (value & DF_TEXTREL));
    };
    const size_t size = elf.is_32_bit() ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
    for (size_t at = 0; at + size <= dynamic.size(); at += size) {
        if (elf.is_32_bit()) {
            auto one = value_at<Elf32_Dyn>(dynamic, at).value_or(Elf32_Dyn{});
            if (is_told(static_cast<uint64_t>(one.d_tag), one.d_un.d_val))
                return true;
        } else {
            auto one = value_at<Elf64_Dyn>(dynamic, at).value_or(Elf64_Dyn{});
            if (is_told(static_cast<uint64_t>(one.d_tag), one.d_un.d_val))
                return true;
        }
    }
    return false;
}

// At a function's beginning, the memory below the stack pointer is unused, unless a loop jumps back there.
bool ProbeSafety::is_entry(Address address) {
    const std::optional<Stretch> stretch = code_.stretch_at(address);
    auto at = symbols_.first_from(address);
    const bool begins = (stretch && stretch->whole && stretch->low == address) ||
                        (at != symbols_.all().end() && at->address == address);
    return begins && !std::ranges::binary_search(jump_targets(), address);
}

bool ProbeSafety::is_relocated(Address address, size_t length) {
    if (!text_relocations_) {
        text_relocations_.emplace();
        if (has_text_relocations(file_.elf()) && file_.is_32_bit()) {
            const std::string_view rel = file_.elf().section_data(".rel.dyn");
            for (size_t i = 0; i + sizeof(Elf32_Rel) <= rel.size(); i += sizeof(Elf32_Rel))
                text_relocations_->push_back(value_at<Elf32_Rel>(rel, i).value_or(Elf32_Rel{}).r_offset);
        } else if (has_text_relocations(file_.elf())) {
            for_each_relocation(file_.elf(), [&](const Relocation& one) { text_relocations_->push_back(one.slot); });
        }
        std::ranges::sort(*text_relocations_);
    }
    // A relocation changes at most 8 bytes. It begins inside the instruction, or before the instruction and extends
    // into it.
    auto after = std::ranges::lower_bound(*text_relocations_, address);
    return after != text_relocations_->end() && *after < address + length;
}

// The bytes of the instruction at an address, and perhaps of others behind it.
std::string ProbeSafety::code_at(Address address) const {
    return file_.code(address, address + file_.architecture().longest_instruction());
}

// The file may begin or end within the context.
Hazard ProbeSafety::hazard_in_context(Address address, std::string_view code) {
    const Architecture& architecture = file_.architecture();
    const size_t around = architecture.hazard_context();
    const ElfSection* section = around ? file_.section_at(address) : nullptr;
    if (!section)
        return architecture.hazard(code);
    const Address low = std::max(section->address, address - std::min<Address>(address, around)),
                  high = std::min(section->address + section->size, address + around);
    const std::string all = file_.code(low, high);
    return all.size() == high - low ? architecture.hazard_within(all, address - low) : architecture.hazard(code);
}

Hazard ProbeSafety::hazard_at(Address address, std::string_view code, size_t length) {
    if (is_relocated(address, length))
        return Hazard::Relocated;
    const Hazard hazard = hazard_in_context(address, code);
    return file_.architecture().traits(hazard).place == HazardPlace::BehindEntries && is_entry(address) ? Hazard::None
                                                                                                        : hazard;
}

// Decodes all executable sections from their beginnings. After data in the code, a few instructions are decoded
// wrongly, which only adds wrong targets. The jumps of the function in question are checked again from its beginning.
const std::vector<Address>& ProbeSafety::jump_targets() {
    if (jump_targets_)
        return *jump_targets_;
    jump_targets_.emplace();
    for (const ElfSection& section : file_.elf().sections()) {
        if (!(section.flags & SHF_EXECINSTR) || section.size > most_code)
            continue;
        const std::string_view code = file_.elf().section_data(section.name);
        for (size_t at = 0; at < code.size();) {
            const std::optional<Instruction> one = file_.architecture().decode(code.substr(at));
            at += one ? one->length : file_.architecture().instruction_alignment();
            if (one && one->is_direct_jump())
                jump_targets_->push_back(one->target(section.address + at));
        }
    }
    std::ranges::sort(*jump_targets_);
    return *jump_targets_;
}

// Whether control can reach the address other than from the instruction before it.
bool ProbeSafety::is_reached_otherwise(const Stretch& stretch, Address address) {
    auto at = symbols_.first_from(address);
    if (!stretch.whole || address >= stretch.high || (at != symbols_.all().end() && at->address == address) ||
        std::ranges::binary_search(jump_targets(), address))
        return true;
    const std::string code = file_.code(stretch.low, stretch.high);
    for (size_t i = 0; i < code.size();) {
        const std::optional<Instruction> one = file_.architecture().decode(std::string_view(code).substr(i));
        if (!one || one->flow == Flow::IndirectJump || one->flow == Flow::FarJump)
            return true; // a switch may lead anywhere
        i += one->length;
        if (one->is_direct_jump() && one->target(stretch.low + i) == address)
            return true;
    }
    return false;
}

// Looks at the next instructions for one without a hazard. It is equivalent to the first one as long as the
// instructions between change nothing that a handler can read, and control only comes from there.
void ProbeSafety::look_beyond(Address address, std::string code, size_t length, ProbeSafetyAt& out) {
    const std::optional<Stretch> stretch = file_.is_32_bit() ? std::nullopt : code_.stretch_at(address);
    if (!stretch)
        return;
    const Architecture& architecture = file_.architecture();
    constexpr int most_steps = 16;
    bool same = architecture.traits(out.hazard).trial == HazardTrial::TriedOut && architecture.leaves_state(code);
    for (int i = 0; i < most_steps; i++) {
        address += length;
        if (address >= stretch->high)
            return;
        same = same && !is_reached_otherwise(*stretch, address);
        code = code_at(address);
        const std::optional<Instruction> one = architecture.decode(code);
        if (!one)
            return;
        length = one->length;
        if (hazard_at(address, code, length) == Hazard::None) {
            out.nearest = address;
            if (same)
                out.instead = address;
            return;
        }
        same = same && architecture.leaves_state(code);
    }
}

ProbeSafetyAt ProbeSafety::look_at(Address address) {
    std::string code = code_at(address);
    const std::optional<Instruction> one = file_.architecture().decode(code);
    if (!one)
        return {Hazard::Unknown, {}, {}};
    ProbeSafetyAt out{hazard_at(address, code, one->length), {}, {}};
    if (out.hazard != Hazard::None)
        look_beyond(address, std::move(code), one->length, out);
    return out;
}

} // namespace sonde
