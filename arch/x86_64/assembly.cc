// Parses the operands in the notes of static markers (USDT). The macros of <sys/sdt.h> let the compiler print them into
// an assembler string, so they have every form that the compiler can choose:
//
//     $5                     a constant
//     %rdi, %r12d, %al       a register, or its lower part
//     -8(%rbp)               memory: a displacement and a base
//     (%rax,%rcx,8)          base + index * scale
//     table+16(,%rax,4)      a symbol and a number in the displacement
//     counter(%rip)          a symbol; `rip` does not count
#include "arch/x86_64/assembly.h"

#include <algorithm>

namespace sonde::x86 {
namespace {

AssemblyOperand unknown(AssemblyOperand::Kind kind, std::string_view name) { return {.kind = kind, .name = name}; }

// Parses the displacement: a sum of numbers and at most one symbol. Compilers leave the addition to the assembler.
AssemblyOperand parse_displacement(std::string_view text, const FindSymbol& symbol) {
    AssemblyOperand out{.kind = AssemblyOperand::Memory};
    while (!text.empty()) {
        if (const std::optional<int64_t> number = take_number(text)) {
            out.number += *number;
            continue;
        }
        text.remove_prefix(text[0] == '+' ? 1 : 0);
        const std::string_view name = text.substr(0, std::min(text.find_first_of("+-"), text.size()));
        if (out.is_linked || name.empty())
            return {.kind = AssemblyOperand::UnknownPlace};
        const std::optional<uint64_t> value = symbol(name);
        if (!value)
            return unknown(AssemblyOperand::UnknownSymbol, name);
        out.number += static_cast<int64_t>(*value);
        out.is_linked = true;
        text.remove_prefix(name.size());
    }
    return out;
}

// Parses `%base,%index,scale`, of which each part is optional. Returns false if a probe cannot read such a place.
bool parse_registers(std::string_view text, const RegisterFile& registers, uint32_t word_size, AssemblyOperand& out) {
    for (int part = 0; !text.empty() || part == 0; part++) {
        const size_t comma = std::min(text.find(','), text.size());
        std::string_view piece = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (part == 2) {
            const std::optional<int64_t> scale = take_number(piece);
            if (!scale || !piece.empty() || out.index < 0)
                return false;
            out.scale = *scale;
            continue;
        }
        if (piece.empty())
            continue;
        const std::optional<RegisterFile::Part> reg = piece[0] == '%' ? registers.find(piece.substr(1)) : std::nullopt;
        if (!reg || reg->size != word_size || part > 2)
            return false;
        // A number relative to rip counts from the next instruction. The assembler converts symbols to such numbers,
        // but the note still has the symbol.
        if (reg->number != registers.instruction_pointer || !out.is_linked)
            (part == 0 ? out.base : out.index) = reg->number;
    }
    return true;
}

// Parses displacement(%base,%index,scale).
AssemblyOperand parse_memory(std::string_view text, const RegisterFile& registers, uint32_t word_size,
                             const FindSymbol& symbol) {
    const size_t open = text.find('(');
    AssemblyOperand out = parse_displacement(text.substr(0, std::min(open, text.size())), symbol);
    if (out.kind != AssemblyOperand::Memory || open == std::string_view::npos)
        return out;
    if (text.back() != ')' ||
        !parse_registers(text.substr(open + 1, text.size() - open - 2), registers, word_size, out))
        return {.kind = AssemblyOperand::UnknownPlace};
    return out;
}

} // namespace

AssemblyOperand parse_operand(std::string_view text, const RegisterFile& registers, uint32_t word_size,
                              const FindSymbol& symbol) {
    if (text.empty())
        return {};
    if (text[0] == '$') {
        text.remove_prefix(1);
        const std::optional<int64_t> value = take_number(text);
        return value && text.empty() ? AssemblyOperand{.kind = AssemblyOperand::Constant, .number = *value}
                                     : AssemblyOperand();
    }
    if (text[0] == '%') {
        const std::optional<RegisterFile::Part> reg = registers.find(text.substr(1));
        return reg ? AssemblyOperand{.kind = AssemblyOperand::Register, .part = *reg}
                   : unknown(AssemblyOperand::UnknownRegister, text.substr(1));
    }
    return parse_memory(text, registers, word_size, symbol);
}

} // namespace sonde::x86
