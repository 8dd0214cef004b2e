// Detects results that no caller uses. For example, gcc turns this into a function without a result, because the only
// caller ignores it:
//
//     static int log(const char *s) { ...; return 0; }
//     void f() { log("a"); }
//
// After the call, rax contains a leftover. The debug information still declares an int, so `$return` would print
// garbage. The callers show the difference: if one of them reads rax after the call, the result exists.
//
// The analysis only looks at the few instructions after each call. If none of the callers is seen to read rax, the
// result is refused. This may refuse a result that exists, but never accepts one that does not.
#include "frontend/dwarf/dropped_results.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "arch/x86_64/decode.h"
#include "base/debug/die.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"
#include "frontend/dwarf/symbol_tables.h"

namespace sonde {
namespace {

constexpr size_t bytes_after_call = 64, most_instructions = 8;
constexpr size_t call_length = 5; // e8 and a 4-byte distance

// The use of rax, or a part of rax, by an instruction.
enum class Use : uint8_t { None, Read, Write, End };

// Whether the operands of an instruction (without VEX prefix) are rax.
struct Operands {
    bool reg = false;     // the operand in the `reg` field of the ModRM byte
    bool rm = false;      // the operand in the `rm` field, if it is a register
    bool address = false; // part of the memory operand's address
    bool opcode = false;  // in the last three bits of the opcode
};

Operands operands_of(std::string_view code, const X86Instruction& one) {
    size_t at = 0;
    while (at < code.size() &&
           std::string_view("\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65\xf0").find(code[at]) != std::string_view::npos)
        at++;
    const auto first = static_cast<uint8_t>(at < code.size() ? code[at] : 0);
    const uint8_t rex = first >> 4 == 4 ? first : 0;
    const bool extends_reg = rex & 4, extends_index = rex & 2, extends_base = rex & 1;
    Operands out;
    out.opcode = (one.opcode & 7) == 0 && !extends_base;
    if (!one.has_modrm)
        return out;
    const int mode = one.modrm >> 6, rm = one.modrm & 7;
    out.reg = (one.modrm >> 3 & 7) == 0 && !extends_reg;
    out.rm = mode == 3 && rm == 0 && !extends_base;
    if (mode == 3)
        return out;
    out.address = rm == 0 && !extends_base;
    if (rm == 4) {
        const size_t sib =
            at + (rex ? 1 : 0) + 1 + static_cast<size_t>(one.map > 0) + static_cast<size_t>(one.map > 1) + 1;
        const auto byte = static_cast<uint8_t>(sib < code.size() ? code[sib] : 0xff);
        out.address = ((byte & 7) == 0 && !extends_base) || ((byte >> 3 & 7) == 0 && !extends_index);
    }
    return out;
}

// One-byte opcodes.
Use use_of_plain(const X86Instruction& one, const Operands& has) {
    const uint8_t opcode = one.opcode;
    const auto if_read = [](bool reads) { return reads ? Use::Read : Use::None; };
    const auto moved = [&](bool from, bool to) {
        return from || has.address ? Use::Read : to ? Use::Write : Use::None;
    };
    if (opcode < 0x40 &&
        // add, or, adc, sbb, and, sub, xor, cmp; `xor` and `sub` of a register with itself do not read it
        (opcode & 7) < 4) {
        const bool clears = has.reg && has.rm && (opcode >> 3 == 6 || opcode >> 3 == 5);
        return clears ? Use::Write : if_read(has.reg || has.rm || has.address);
    }
    if (opcode < 0x40 && (opcode & 7) < 6)
        return Use::Read; // an operation on al or eax and a number
    // Short forms of a constant: `or $-1` and `and $0`.
    const bool sets = (opcode == 0x83 || opcode == 0x81) &&
                      ((one.extension() == 1 && one.immediate == -1) || (one.extension() == 4 && one.immediate == 0));
    if (sets && has.rm)
        return Use::Write;
    switch (opcode) {
    case 0x88:
    case 0x89:
        return moved(has.reg, has.rm);
    case 0x8a:
    case 0x8b:
    case 0x63:
    case 0x8d:
    case 0x69:
    case 0x6b:
        return moved(has.rm, has.reg);
    case 0xc6:
    case 0xc7:
        return moved(false, has.rm);
    case 0x98:
    case 0x99:
    case 0xa8:
    case 0xa9:
        return Use::Read;
    case 0xf6:
    case 0xf7: // from 4 on multiplication and division, which use rax
        return if_read(has.rm || has.address || one.extension() >= 4);
    case 0xc2:
    case 0xc3:
    case 0xe8:
    case 0xe9:
    case 0xeb:
    case 0xcc:
    case 0xf4:
        return Use::End;
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
        return if_read(has.reg || has.rm || has.address);
    default:
        break;
    }
    if (opcode >> 3 == 0x50 >> 3) // push
        return if_read(has.opcode);
    if (opcode == 0x58 || opcode == 0xb0 || opcode == 0xb8) // pop, mov of a number
        return has.opcode ? Use::Write : Use::None;
    if (opcode > 0x90 && opcode < 0x98) // xchg with rax
        return Use::Read;
    if (one.is_call() || one.is_indirect_jump())
        return has.rm || has.address ? Use::Read : Use::End;
    return if_read(one.has_modrm && (has.rm || has.address));
}

// Whether a register in the `rm` field is a vector register: SSE, in opcodes after 0f, 0f 38 and 0f 3a (Intel SDM
// volume 2, appendix A). 66 0f 7e and f3 0f 7e differ; neither reads rax.
bool has_vector_rm(const X86Instruction& one) {
    const uint8_t op = one.opcode;
    if (one.map == 2)
        return op < 0xf0;
    if (one.map == 3)
        return op != 0x20 && op != 0x22; // pinsrb, pinsrd
    return (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f && op != 0x2a) ||
           (op >= 0x50 && op <= 0x7f && op != 0x6e) || op == 0xc2 || op == 0xc5 || op == 0xc6 || op >= 0xd0;
}

// Opcodes after 0f that write a vector's part or its conversion to the register in the `reg` field.
bool writes_from_vector(const X86Instruction& one) {
    const uint8_t op = one.opcode; // cvttss2si, cvtss2si, movmskps, pextrw, pmovmskb
    return one.map == 1 && (op == 0x2c || op == 0x2d || op == 0x50 || op == 0xc5 || op == 0xd7);
}

Use use_of(std::string_view code, const X86Instruction& one) {
    if (one.is_vector)
        return Use::None;
    const Operands has = operands_of(code, one);
    if (one.map == 0)
        return use_of_plain(one, has);
    const bool extends =
        one.map == 1 && (one.opcode == 0xb6 || one.opcode == 0xb7 || one.opcode == 0xbe || one.opcode == 0xbf);
    if ((has.rm && !has_vector_rm(one)) || has.address)
        return Use::Read;
    if (extends || writes_from_vector(one))
        return has.reg ? Use::Write : Use::None;
    const bool is_cmov_or_imul = one.map == 1 && (one.opcode >> 4 == 4 || one.opcode == 0xaf);
    return is_cmov_or_imul && has.reg ? Use::Read : Use::None;
}

} // namespace

bool reads_result(std::string_view code, bool with_push) {
    for (size_t i = 0; i < most_instructions && !code.empty(); i++) {
        const std::optional<X86Instruction> one = decode_x86(code);
        if (!one)
            return false;
        const bool is_push = !one->is_vector && one->map == 0 && one->opcode >> 3 == 0x50 >> 3;
        const Use use = is_push && !with_push ? Use::None : use_of(code, *one);
        if (use != Use::None)
            return use == Use::Read;
        code.remove_prefix(std::min(one->length, code.size()));
    }
    return false;
}

// Compilers describe calls only in optimized code.
bool DroppedResults::is_optimised(const FunctionInstance& function) {
    Dwarf_Die die;
    return debug_.unpack(function.die, &die) &&
           (dwarf_hasattr(&die, DW_AT_call_all_calls) || dwarf_hasattr(&die, DW_AT_GNU_all_call_sites));
}

bool DroppedResults::has_other_signature(const FunctionInstance& function) {
    Dwarf_Die die;
    if (!debug_.unpack(function.die, &die))
        return false;
    if (number_attribute(die, DW_AT_calling_convention).value_or(DW_CC_normal) == DW_CC_nocall)
        return true;
    for (auto symbol = symbols_.first_from(function.low);
         symbol != symbols_.all().end() && symbol->address == function.low; ++symbol)
        if (symbol->name.find(".isra.") != std::string_view::npos)
            return true;
    return false;
}

const std::vector<std::pair<Address, Address>>& DroppedResults::calls() {
    if (has_calls_)
        return calls_;
    has_calls_ = true;
    constexpr uint64_t portion = 8 << 20;
    for (const ElfSection& section : file_.elf().sections())
        if ((section.flags & SHF_EXECINSTR) && section.type == SHT_PROGBITS)
            for (uint64_t done = 0; done < section.size; done += portion)
                add_calls(section.address + done,
                          section.address + std::min(section.size, done + portion + call_length));
    std::ranges::sort(calls_);
    return calls_;
}

void DroppedResults::add_calls(Address low, Address high) {
    const std::string code = file_.code(low, high);
    for (size_t at = 0; at + call_length <= code.size(); at++) {
        if (static_cast<uint8_t>(code[at]) != 0xe8)
            continue;
        int32_t distance = 0;
        std::memcpy(&distance, code.data() + at + 1, sizeof distance);
        const Address next = low + at + call_length;
        calls_.emplace_back(next + static_cast<Address>(static_cast<int64_t>(distance)), next);
    }
}

bool DroppedResults::is_dropped(const FunctionInstance& function) {
    if (!function.has_debug_info || file_.is_32_bit())
        return false;
    // The changed copy is local, even if the function in the source is external.
    const bool is_changed = has_other_signature(function);
    if (!is_changed && (function.external || !is_optimised(function)))
        return false;
    auto call = std::ranges::lower_bound(calls(), std::pair(function.low, Address(0)));
    // If no direct call is known, the function is called through its address, and then the caller expects the result.
    const bool is_called = call != calls_.end() && call->first == function.low;
    for (; call != calls_.end() && call->first == function.low; ++call)
        if (reads_result(file_.code(call->second, call->second + bytes_after_call), !is_changed))
            return false;
    return is_called || is_changed;
}

} // namespace sonde
