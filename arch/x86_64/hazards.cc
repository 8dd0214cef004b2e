// The tables repeat the decisions of the kernel (arch/x86/kernel/uprobes.c) for each opcode byte. They are deliberately
// not derived from what the instruction means: the kernel decides by the byte, and that is the problem.
//
// A change in the kernel would break them in one direction only. If a newer kernel treats an instruction correctly,
// sonde still refuses or moves the probe, which is safe. A new mistake of the kernel would have to be added here.
#include "arch/x86_64/hazards.h"

#include <algorithm>
#include <iterator>

namespace sonde {
namespace {

bool between(uint8_t value, uint8_t low, uint8_t high) { return value >= low && value <= high; }

// One-byte opcodes that the kernel refuses to probe. It also compares them with the opcode after a vector prefix.
bool is_refused(uint8_t opcode) {
    constexpr uint8_t refused[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61,
                                   0x62, 0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4,
                                   0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed, 0xee, 0xef, 0xf1, 0xf4, 0xfa, 0xfb};
    return std::ranges::find(refused, opcode) != std::end(refused);
}

// Returns the hazard of a vector instruction with the opcode that the kernel sees.
X86Hazard vector_hazard(uint8_t opcode) {
    if (between(opcode, 0x70, 0x7f) || opcode == 0x90 || opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb)
        return X86Hazard::VectorAsJump;
    if (between(opcode, 0x50, 0x57))
        return X86Hazard::VectorAsPush;
    switch (opcode) {
    case 0x9d: // popf
    case 0xc2: // ret
    case 0xc3:
    case 0xca: // far return
    case 0xcb:
    case 0xff: // call and jump through an address in memory
        return X86Hazard::VectorAsReturn;
    default:
        return is_refused(opcode) || between(opcode, 0xcc, 0xcd) ? X86Hazard::VectorRefused : X86Hazard::None;
    }
}

bool is_nop(const X86Instruction& one) {
    constexpr uint8_t rex_b = 1;
    return !one.is_vector &&
           ((one.map == 1 && one.opcode == 0x1f) || (one.map == 0 && one.opcode == 0x90 && !(one.rex & rex_b)));
}

// Hazards of instructions with a one-byte opcode.
X86Hazard one_byte_hazard(const X86Instruction& one) {
    constexpr uint8_t rex_b = 1;
    switch (one.opcode) {
    case 0xcc: // int3
    case 0xf1: // int1
        return X86Hazard::Interrupt;
    case 0x90:
        return one.rex & rex_b ? X86Hazard::ExchangeAsNop : one.repeat == 0xf3 ? X86Hazard::Pause : X86Hazard::None;
    case 0x9c:
        return X86Hazard::PushFlags;
    case 0xcd: // int
        return one.immediate == -128 ? X86Hazard::SystemCall : X86Hazard::Interrupt;
    case 0xc7:
        return one.modrm == 0xf8 ? X86Hazard::Transaction : X86Hazard::None; // xbegin
    case 0xa4:                                                               // movs
    case 0xa5:
    case 0xa6: // cmps
    case 0xa7:
    case 0xaa: // stos
    case 0xab:
    case 0xac: // lods
    case 0xad:
    case 0xae: // scas
    case 0xaf:
    case 0x6c: // ins, outs
    case 0x6d:
    case 0x6e:
    case 0x6f:
        return one.repeat ? X86Hazard::Repeated : is_refused(one.opcode) ? X86Hazard::Refused : X86Hazard::None;
    case 0xff:
        return one.extension() == 6 && one.operand16 ? X86Hazard::ShortPush : X86Hazard::None;
    case 0x68:
    case 0x6a:
        return one.operand16 ? X86Hazard::ShortPush : X86Hazard::None;
    default:
        if (between(one.opcode, 0x50, 0x57) && one.operand16)
            return X86Hazard::ShortPush;
        return is_refused(one.opcode) || ((one.is_direct_jump() || one.opcode == 0xe8) && one.operand16)
                   ? X86Hazard::Refused
                   : X86Hazard::None;
    }
}

// The kernel recognizes these instructions only with a VEX prefix. If another prefix is present, it misses the operand
// relative to rip.
bool loses_operand(const X86Instruction& one) {
    if (!one.repeat || !one.is_relative())
        return false;
    constexpr uint8_t opcodes[] = {0x2b, 0x41, 0x42, 0x44, 0x45, 0x46, 0x47, 0x4a,
                                   0x4b, 0x90, 0x91, 0x92, 0x93, 0x98, 0x99};
    return std::ranges::find(opcodes, one.opcode) != std::end(opcodes);
}

// Hazards of instructions with an opcode that begins with 0f.
X86Hazard two_byte_hazard(const X86Instruction& one) {
    switch (one.opcode) {
    case 0x05: // syscall
    case 0x34: // sysenter
        return X86Hazard::SystemCall;
    case 0x00: // sldt, str
        return one.extension() <= 1 ? X86Hazard::DescriptorTable : X86Hazard::None;
    case 0x01: // sgdt, sidt, smsw; vmcall, vmmcall
        if (one.modrm == 0xc1 || one.modrm == 0xd9)
            return X86Hazard::Hypercall;
        return one.extension() == 4 || (one.extension() <= 1 && one.modrm >> 6 != 3) ? X86Hazard::DescriptorTable
                                                                                     : X86Hazard::None;
    case 0xa2: // cpuid
        return X86Hazard::ProcessorInfo;
    default:
        if (one.is_direct_jump() && one.operand16)
            return X86Hazard::Refused;
        return loses_operand(one) ? X86Hazard::UnknownPrefix : X86Hazard::None;
    }
}

// Whether an AVX instruction writes only vector and mask registers. The check is only correct for opcodes that have a
// hazard.
bool writes_vectors_only(const X86Instruction& one) {
    const bool in_memory = one.modrm >> 6 != 3;
    const uint8_t op = one.opcode;
    constexpr uint8_t pp_66 = 1, pp_f3 = 2;
    switch (one.map) {
    case 1:
        switch (op) {
        case 0x17: // stores: vmovhps, vmovdqa, vmovq, vmovntdq
        case 0x7f:
        case 0xd6:
        case 0xe7:
            return !in_memory;
        case 0x2f: // vcomiss
        case 0x50: // vmovmskps
            return false;
        case 0x7e: // vmovd
            return one.pp != pp_66;
        case 0x78: // vcvttss2usi
        case 0x79:
            return one.pp < pp_f3;
        default:
            return true;
        }
    case 2:
        return op != 0x0e && op != 0x17 && op != 0x2f && !between(op, 0xe0, 0xef); // vtest, vptest, vmaskmov, cmpccxadd
    case 3:
        return !between(op, 0x16, 0x17) && !between(op, 0x60, 0x63); // vpextrd, vextractps, vpcmpestri
    default:
        return false;
    }
}

} // namespace

// Nops are hazards too: some kernels replace a probed 5-byte nop by a call, which overwrites the bytes below the stack
// pointer, and do not probe a 10-byte nop. Whether the kernel at hand does so is tried out
// (arch/x86_64/hazards.def).
X86Hazard hazard_of(const X86Instruction& instruction) {
    constexpr size_t replaced_by_call = 5, replaced_by_jump = 10;
    if (is_nop(instruction) && instruction.length == replaced_by_call)
        return X86Hazard::RedZoneNop;
    if (is_nop(instruction) && instruction.length == replaced_by_jump)
        return X86Hazard::LongNop;
    const X86Hazard hazard = instruction.is_vector  ? vector_hazard(instruction.opcode)
                             : instruction.map == 0 ? one_byte_hazard(instruction)
                             : instruction.map == 1 ? two_byte_hazard(instruction)
                                                    : X86Hazard::None;
    if (hazard == X86Hazard::None && (instruction.lock || instruction.segment))
        return X86Hazard::Refused;
    return hazard;
}

std::span<const HazardTraits> x86_hazards() {
    static constexpr HazardTraits all[] = {
#define HAZARD(id, trial, effect, place, text)                                                                         \
    {#id, HazardTrial::trial, HazardEffect::effect, HazardPlace::place, text},
#include "arch/instruction_hazards.def"
#include "arch/x86_64/hazards.def"
#undef HAZARD
    };
    return all;
}

bool leaves_state(const X86Instruction& instruction) {
    if (is_nop(instruction))
        return true;
    return instruction.is_vector && hazard_of(instruction) != X86Hazard::None && writes_vectors_only(instruction);
}

} // namespace sonde
