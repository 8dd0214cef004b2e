// A call of another module's function leads to an entry of the procedure linkage table. The entry jumps to the address
// in a slot, which the dynamic loader fills:
//
//     f3 0f 1e fa         endbr64                 with -fcf-protection
//     ff 25 ca 2f 00 00   jmp *0x2fca(%rip)       the slot is at the end of this instruction + 0x2fca
//
// The relocation of a slot has the function's name. So plt_slot(), which finds the slot of an entry, leads to the name
// of each entry.
#include "arch/x86_64/files.h"

#include <elf.h>

#include <cstring>

namespace sonde::x86 {

// With -fcf-protection, .plt has only the code for lazy binding, and .plt.sec has the entries.
std::span<const PltSection> plt_sections() {
    static constexpr PltSection sections[] = {{".plt", 16, 16}, {".plt.sec", 16, 16}, {".plt.got", 8, 8}};
    return sections;
}

std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address) {
    constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa", bnd = "\xf2", jump = "\xff\x25"; // jmp *slot(%rip)
    constexpr size_t jump_length = 6;
    size_t at = 0;
    // `endbr64` (with -fcf-protection) and `bnd` (with -mmpx) may precede the jump.
    for (std::string_view prefix : {endbr64, bnd})
        if (code.substr(at).starts_with(prefix))
            at += prefix.size();
    if (!code.substr(at).starts_with(jump) || at + jump_length > code.size())
        return std::nullopt;
    int32_t displacement = 0;
    std::memcpy(&displacement, code.data() + at + jump.size(), sizeof displacement);
    return address + at + jump_length + static_cast<uint64_t>(int64_t{displacement});
}

DynamicRelocation dynamic_relocation(uint32_t type) {
    switch (type) {
    case R_X86_64_JUMP_SLOT:
        return DynamicRelocation::Call;
    case R_X86_64_GLOB_DAT:
        return DynamicRelocation::Pointer;
    case R_X86_64_TPOFF64:
        return DynamicRelocation::ThreadDistance;
    case R_X86_64_DTPMOD64:
        return DynamicRelocation::ThreadModule;
    case R_X86_64_TLSDESC:
        return DynamicRelocation::ThreadDescriptor;
    default:
        return DynamicRelocation::Other;
    }
}

ObjectRelocation object_relocation(uint32_t type) {
    switch (type) {
    case R_X86_64_NONE:
    case R_X86_64_DTPOFF32: // for thread-local variables, which modules cannot have
    case R_X86_64_DTPOFF64:
        return ObjectRelocation::Nothing;
    case R_X86_64_64:
        return ObjectRelocation::Absolute64;
    case R_X86_64_32:
    case R_X86_64_32S:
        return ObjectRelocation::Absolute32;
    case R_X86_64_PC64:
        return ObjectRelocation::Relative64;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        return ObjectRelocation::Relative32;
    default:
        return ObjectRelocation::Unknown;
    }
}

// A value that does not fit into 32 bits is an error, not truncated.
Relocated relocate(const CodeRelocation& relocation) {
    const uint32_t type = relocation.type;
    const bool is_wide =
        type == R_X86_64_64 || type == R_X86_64_PC64 || type == R_X86_64_GOTOFF64 || type == R_X86_64_GOTPC64;
    const size_t width = is_wide ? 8 : 4;
    if (relocation.room < width)
        return Relocated::TooLong;
    const uint64_t addend = static_cast<uint64_t>(relocation.addend), target = relocation.symbol + addend;
    const uint64_t place = reinterpret_cast<uint64_t>(relocation.place);
    uint64_t value = 0;
    switch (type) {
    case R_X86_64_NONE:
        return Relocated::Done;
    case R_X86_64_64:
    case R_X86_64_32:
    case R_X86_64_32S:
        value = target;
        break;
    case R_X86_64_PC64:
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        value = target - place;
        break;
    case R_X86_64_GOTOFF64:
        value = target - relocation.table;
        break;
    case R_X86_64_GOTPC64:
    case R_X86_64_GOTPC32:
        value = relocation.table + addend - place;
        break;
    default:
        return Relocated::Unknown;
    }
    const auto is_int32 = [](uint64_t number) {
        return static_cast<int64_t>(number) == static_cast<int32_t>(static_cast<uint32_t>(number));
    };
    if (!is_wide && !(type == R_X86_64_32 ? value <= UINT32_MAX : is_int32(value)))
        return Relocated::OutOfReach;
    std::memcpy(relocation.place, &value, width);
    return Relocated::Done;
}

} // namespace sonde::x86
