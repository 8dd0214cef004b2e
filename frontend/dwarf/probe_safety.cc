// Checks instructions before they are probed. A probe that the kernel executes wrongly changes the traced program,
// which sonde must never do. So the answer is Hazard::Unknown if anything is unclear, and the session then refuses the
// probe.
#include "frontend/dwarf/probe_safety.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "arch/x86_64/hazards.h"
#include "frontend/dwarf/code_layout.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"
#include "frontend/machine/relocations.h"

namespace sonde {
namespace {

constexpr Address longest_instruction = 15;
// Maximum amount of code that is searched for jumps. In larger programs, no other place is suggested.
constexpr uint64_t most_code = 64 << 20;

template <typename T> T read(std::string_view bytes, size_t at) {
    T out{};
    if (at + sizeof out <= bytes.size())
        memcpy(&out, bytes.data() + at, sizeof out);
    return out;
}

bool is_indirect(const X86Instruction& one) {
    return one.is_indirect_jump() || (!one.is_vector && one.map == 0 && one.opcode == 0xff && one.extension() == 5);
}

} // namespace

bool has_text_relocations(const ElfFile& elf) {
    const std::string_view dynamic = elf.section_data(".dynamic");
    auto is_told = [](uint64_t tag, uint64_t value) {
        return tag == DT_TEXTREL || (tag == DT_FLAGS && (value & DF_TEXTREL));
    };
    const size_t size = elf.is_32_bit() ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
    for (size_t at = 0; at + size <= dynamic.size(); at += size) {
        if (elf.is_32_bit()) {
            auto one = read<Elf32_Dyn>(dynamic, at);
            if (is_told(static_cast<uint64_t>(one.d_tag), one.d_un.d_val))
                return true;
        } else {
            auto one = read<Elf64_Dyn>(dynamic, at);
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
                text_relocations_->push_back(read<Elf32_Rel>(rel, i).r_offset);
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

Hazard ProbeSafety::hazard_at(Address address, const X86Instruction& instruction) {
    if (is_relocated(address, instruction.length))
        return Hazard::Relocated;
    const Hazard hazard = hazard_of(instruction);
    return hazard == Hazard::RedZoneNop && is_entry(address) ? Hazard::None : hazard;
}

// Decodes all executable sections from their beginnings. After data in the code, a few instructions are decoded
// wrongly, which only adds wrong targets. The jumps of the function in question are checked again from its beginning.
const std::vector<Address>& ProbeSafety::jump_targets() {
    if (jump_targets_)
        return *jump_targets_;
    jump_targets_.emplace();
    const X86Mode mode = file_.is_32_bit() ? X86Mode::Protected : X86Mode::Long;
    for (const ElfSection& section : file_.elf().sections()) {
        if (!(section.flags & SHF_EXECINSTR) || section.size > most_code)
            continue;
        const std::string_view code = file_.elf().section_data(section.name);
        for (size_t at = 0; at < code.size();) {
            std::optional<X86Instruction> one = decode_x86(code.substr(at), mode);
            at += one ? one->length : 1;
            if (one && one->is_direct_jump())
                jump_targets_->push_back(section.address + at + static_cast<uint64_t>(one->immediate));
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
        std::optional<X86Instruction> one = decode_x86(std::string_view(code).substr(i));
        if (!one || is_indirect(*one))
            return true; // a switch may lead anywhere
        i += one->length;
        if (one->is_direct_jump() && stretch.low + i + static_cast<uint64_t>(one->immediate) == address)
            return true;
    }
    return false;
}

// Looks at the next instructions for one without a hazard. It is equivalent to the first one as long as the
// instructions between change nothing that a handler can read, and control only comes from there.
void ProbeSafety::look_beyond(Address address, const X86Instruction& first, ProbeSafetyAt& out) {
    const std::optional<Stretch> stretch = file_.is_32_bit() ? std::nullopt : code_.stretch_at(address);
    if (!stretch)
        return;
    constexpr int most_steps = 16;
    bool same = is_tried_out(out.hazard) && leaves_state(first);
    std::optional<X86Instruction> one = first;
    for (int i = 0; i < most_steps && one; i++) {
        address += one->length;
        if (address >= stretch->high)
            return;
        same = same && !is_reached_otherwise(*stretch, address);
        one = decode_x86(file_.code(address, address + longest_instruction));
        if (one && hazard_at(address, *one) == Hazard::None) {
            out.nearest = address;
            if (same)
                out.instead = address;
            return;
        }
        same = same && one && leaves_state(*one);
    }
}

ProbeSafetyAt ProbeSafety::look_at(Address address) {
    const std::optional<X86Instruction> one = decode_x86(file_.code(address, address + longest_instruction),
                                                         file_.is_32_bit() ? X86Mode::Protected : X86Mode::Long);
    if (!one)
        return {Hazard::Unknown, {}, {}};
    ProbeSafetyAt out{hazard_at(address, *one), {}, {}};
    if (out.hazard != Hazard::None)
        look_beyond(address, *one, out);
    return out;
}

} // namespace sonde
