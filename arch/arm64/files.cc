// A call of another module's function leads to an entry of the procedure linkage table. The entry jumps to the address
// in a slot, which the dynamic loader fills:
//
//     d503245f    bti c                   with -mbranch-protection=bti, in programs
//     90000090    adrp x16, page          the slot is in this page,
//     f947d611    ldr  x17, [x16, #4008]  at this offset
//     913ea210    add  x16, x16, #4008    for lazy binding
//     d503219f    autia1716               with signed slots
//     d61f0220    br   x17
//
// The relocation of a slot has the function's name. The sizes of entries differ between linkers and options, so
// read_plt() tries each instruction.
#include "arch/arm64/files.h"

#include <elf.h>

#include <cstring>

#include "arch/arm64/registers.h"

namespace sonde::arm64 {
namespace {

constexpr uint32_t bti_c = 0xd503245f, br_x17 = 0xd61f0220;

// Reads a whole instruction. Returns 0, which is not a valid instruction, if the code ends before.
uint32_t word_at(std::string_view code, size_t at) {
    uint32_t out = 0;
    if (at + sizeof out <= code.size())
        std::memcpy(&out, code.data() + at, sizeof out);
    return out;
}

constexpr uint32_t bits(uint64_t value, unsigned first, unsigned count) {
    return static_cast<uint32_t>(value >> first & ((uint64_t{1} << count) - 1));
}
constexpr uint64_t extend(uint64_t value, unsigned count) {
    return static_cast<uint64_t>(static_cast<int64_t>(value << (64 - count)) >> (64 - count));
}
constexpr uint64_t page_of(uint64_t address) { return address & ~uint64_t{0xfff}; }

// The field of adr and adrp: the two lowest bits are apart.
constexpr uint32_t adr_field(uint64_t value) { return bits(value, 0, 2) << 29 | bits(value, 2, 19) << 5; }
constexpr uint32_t adr_mask = adr_field(~uint64_t{0});

} // namespace

std::span<const PltSection> plt_sections() {
    constexpr size_t instruction = 4, shortest = 12;
    static constexpr PltSection sections[] = {
        {".plt", instruction, shortest}, {".plt.got", instruction, shortest}, {".iplt", instruction, shortest}};
    return sections;
}

std::optional<uint64_t> plt_slot(std::string_view code, uint64_t address) {
    constexpr int x16 = 16, x17 = 17;
    size_t at = word_at(code, 0) == bti_c ? 4 : 0;
    const uint32_t adrp = word_at(code, at), load = word_at(code, at + 4);
    if ((adrp & 0x9f00001f) != (0x90000000 | x16) || (load & 0xffc003ff) != (0xf9400000 | x16 << 5 | x17))
        return std::nullopt;
    // At most two instructions are between the load and the jump.
    bool jumps = false;
    for (size_t i = 2; i <= 4; i++)
        jumps = jumps || word_at(code, at + 4 * i) == br_x17;
    if (!jumps)
        return std::nullopt;
    const uint64_t pages = extend(bits(adrp, 5, 19) << 2 | bits(adrp, 29, 2), 21);
    return page_of(address + at) + (pages << 12) + uint64_t{bits(load, 10, 12)} * 8;
}

DynamicRelocation dynamic_relocation(uint32_t type) {
    switch (type) {
    case R_AARCH64_JUMP_SLOT:
        return DynamicRelocation::Call;
    case R_AARCH64_GLOB_DAT:
        return DynamicRelocation::Pointer;
    case R_AARCH64_TLS_TPREL:
        return DynamicRelocation::ThreadDistance;
    case R_AARCH64_TLS_DTPMOD:
        return DynamicRelocation::ThreadModule;
    case R_AARCH64_TLSDESC:
        return DynamicRelocation::ThreadDescriptor;
    default:
        return DynamicRelocation::Other;
    }
}

ObjectRelocation object_relocation(uint32_t type) {
    switch (type) {
    case R_AARCH64_NONE:
    case R_AARCH64_TLS_DTPREL: // for thread-local variables, which modules cannot have
        return ObjectRelocation::Nothing;
    case R_AARCH64_ABS64:
        return ObjectRelocation::Absolute64;
    case R_AARCH64_ABS32:
        return ObjectRelocation::Absolute32;
    case R_AARCH64_PREL64:
        return ObjectRelocation::Relative64;
    case R_AARCH64_PREL32:
        return ObjectRelocation::Relative32;
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        return ObjectRelocation::Jump26;
    default:
        return ObjectRelocation::Unknown;
    }
}

namespace {

// The part of an instruction, or the data, that a relocation changes.
struct Patch {
    size_t width = 4;   // in bytes
    uint32_t mask = 0;  // of the instruction; 0: all bits
    uint64_t field = 0; // the new bits
    bool fits = true;
};

// A distance in units of instructions, in `count` bits from `first` on.
Patch jump(uint64_t distance, unsigned first, unsigned count) {
    const uint64_t units = distance >> 2;
    return {.mask = bits(~uint64_t{0}, 0, count) << first,
            .field = uint64_t{bits(units, 0, count)} << first,
            .fits = (distance & 3) == 0 && extend(distance, count + 2) == distance};
}

// One of the four parts of an address in movz and movk. `checked`: the parts above must be 0.
Patch move_wide(uint64_t value, unsigned part, bool checked) {
    return {.mask = 0xffffU << 5,
            .field = uint64_t{bits(value, 16 * part, 16)} << 5,
            .fits = !checked || part == 3 || value >> (16 * part + 16) == 0};
}

// The offset in a page, of an access to 2^scale bytes.
Patch page_offset(uint64_t value, unsigned scale) {
    return {.mask = 0xfffU << 10,
            .field = uint64_t{bits(value, 0, 12)} >> scale << 10,
            .fits = (value & ((uint64_t{1} << scale) - 1)) == 0};
}

Patch number(uint64_t value, size_t width, bool is_relative) {
    const unsigned count = static_cast<unsigned>(8 * width);
    return {.width = width,
            .field = value,
            .fits = width == 8 || extend(value, count) == value || (!is_relative && value >> count == 0)};
}

std::optional<Patch> patch(const CodeRelocation& relocation) {
    const uint64_t target = relocation.symbol + static_cast<uint64_t>(relocation.addend);
    const uint64_t place = reinterpret_cast<uint64_t>(relocation.place), distance = target - place;
    switch (const uint32_t type = relocation.type; type) {
    case R_AARCH64_ABS64:
        return number(target, 8, false);
    case R_AARCH64_ABS32:
        return number(target, 4, false);
    case R_AARCH64_PREL64:
        return number(distance, 8, true);
    case R_AARCH64_PREL32:
        return number(distance, 4, true);
    case R_AARCH64_MOVW_UABS_G0:
    case R_AARCH64_MOVW_UABS_G1:
    case R_AARCH64_MOVW_UABS_G2:
    case R_AARCH64_MOVW_UABS_G3:
        return move_wide(target, (type - R_AARCH64_MOVW_UABS_G0) / 2, true);
    case R_AARCH64_MOVW_UABS_G0_NC:
    case R_AARCH64_MOVW_UABS_G1_NC:
    case R_AARCH64_MOVW_UABS_G2_NC:
        return move_wide(target, (type - R_AARCH64_MOVW_UABS_G0_NC) / 2, false);
    case R_AARCH64_ADR_PREL_LO21:
        return Patch{.mask = adr_mask, .field = adr_field(distance), .fits = extend(distance, 21) == distance};
    case R_AARCH64_ADR_PREL_PG_HI21: {
        const uint64_t pages = page_of(target) - page_of(place);
        return Patch{.mask = adr_mask, .field = adr_field(pages >> 12), .fits = extend(pages, 33) == pages};
    }
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return page_offset(target, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return page_offset(target, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return page_offset(target, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
        return page_offset(target, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return page_offset(target, 4);
    case R_AARCH64_LD_PREL_LO19:
    case R_AARCH64_CONDBR19:
        return jump(distance, 5, 19);
    case R_AARCH64_TSTBR14:
        return jump(distance, 5, 14);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: {
        const Patch direct = jump(distance, 0, 26);
        return direct.fits || !relocation.stub || relocation.addend != 0 ? direct
                                                                         : jump(relocation.stub - place, 0, 26);
    }
    default:
        return std::nullopt;
    }
}

} // namespace

// A value that does not fit is an error, not truncated.
Relocated relocate(const CodeRelocation& relocation) {
    if (relocation.type == R_AARCH64_NONE)
        return Relocated::Done;
    const std::optional<Patch> change = patch(relocation);
    if (!change)
        return Relocated::Unknown;
    if (relocation.room < change->width)
        return Relocated::TooLong;
    if (!change->fits)
        return Relocated::OutOfReach;
    uint64_t value = 0;
    std::memcpy(&value, relocation.place, change->width);
    value = change->mask ? (value & ~uint64_t{change->mask}) | change->field : change->field;
    std::memcpy(relocation.place, &value, change->width);
    return Relocated::Done;
}

void write_call_stub(uint8_t* place, uint64_t target) {
    constexpr uint32_t code[] = {
        0x58000050, // ldr x16, .+8
        0xd61f0200, // br x16
    };
    static_assert(sizeof code + sizeof target == call_stub_size);
    std::memcpy(place, code, sizeof code);
    std::memcpy(place + sizeof code, &target, sizeof target);
}

} // namespace sonde::arm64
