// Parses the operands in the notes of static markers (USDT). The macros of <sys/sdt.h> let the compiler print them into
// an assembler string, so they have every form that the compiler can choose:
//
//     5, #5                  a constant
//     x0, w1, xzr            a register, or its lower half
//     [sp, 72], [x6]         memory: a base and a displacement
//     [x0, x1, lsl 3]        base + index * 2^3
//     [x0, w1, sxtw 2]       the same; the index is the lower half of x1, extended by its sign (uxtw: by zeros)
//     [x0, #:lo12:counter]   the lower 12 bits of the symbol's address; the base has the others
#include "arch/arm64/assembly.h"

#include <algorithm>

#include "arch/arm64/registers.h"

namespace sonde::arm64 {
namespace {

constexpr AssemblyOperand unknown_place{.kind = AssemblyOperand::UnknownPlace};

std::string_view trim(std::string_view text) {
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text;
}

// Removes the part before the next comma, and the comma.
std::string_view take_part(std::string_view& text) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view out = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    return out;
}

std::optional<int64_t> whole_number(std::string_view text) {
    if (text.starts_with('#'))
        text.remove_prefix(1);
    const std::optional<int64_t> out = take_number(text);
    return text.empty() ? out : std::nullopt;
}

// b0 to q31, and v0 to v31.
bool is_vector(std::string_view name) {
    if (name.empty() || std::string_view("bhsdqv").find(name[0]) == std::string_view::npos)
        return false;
    name.remove_prefix(1);
    const bool is_number = !name.empty() && name[0] >= '0' && name[0] <= '9';
    const std::optional<int64_t> number = is_number ? take_number(name) : std::nullopt;
    return number && *number < 32;
}

// Parses a symbol and a number: `counter`, `counter+8`. Returns its address; nullopt if the file does not have it.
std::optional<uint64_t> address_of(std::string_view text, const FindSymbol& symbol, std::string_view& name) {
    name = text.substr(0, std::min(text.find_first_of("+-"), text.size()));
    text.remove_prefix(name.size());
    std::optional<uint64_t> out = symbol(name);
    while (out && !text.empty()) {
        const std::optional<int64_t> number = take_number(text);
        if (!number)
            return std::nullopt;
        *out += static_cast<uint64_t>(*number);
    }
    return out;
}

// Parses the index, and then how it is extended and shifted: `lsl 3`, `sxtw`, `uxtw #2`.
bool parse_index(std::string_view text, std::string_view how, AssemblyOperand& out) {
    const std::optional<RegisterFile::Part> index = registers().find(text);
    if (!index || index->number == sp)
        return false;
    out.index = index->number;
    out.index_size = index->size;
    const std::string_view word = how.substr(0, std::min(how.find(' '), how.size()));
    const std::optional<int64_t> shift =
        how.size() > word.size() ? whole_number(trim(how.substr(word.size()))) : std::optional<int64_t>(0);
    if (!shift || *shift < 0 || *shift > 4)
        return false;
    out.scale = int64_t{1} << *shift;
    out.extends_sign = word == "sxtw" || word == "sxtx";
    if (index->size == 8)
        return word.empty() || word == "lsl" || word == "sxtx";
    return index->size == 4 && (word == "sxtw" || word == "uxtw");
}

AssemblyOperand parse_memory(std::string_view text, const FindSymbol& symbol) {
    if (!text.ends_with(']'))
        return unknown_place;
    text = text.substr(1, text.size() - 2);
    AssemblyOperand out{.kind = AssemblyOperand::Memory};
    const std::optional<RegisterFile::Part> base = registers().find(take_part(text));
    if (!base || base->size != 8)
        return unknown_place;
    out.base = base->number;
    if (text.empty())
        return out;
    const std::string_view second = take_part(text), third = take_part(text);
    if (!text.empty())
        return unknown_place;
    constexpr std::string_view low = ":lo12:";
    if (const size_t at = second.starts_with('#') ? 1 : 0; second.substr(at).starts_with(low)) {
        std::string_view name;
        const std::optional<uint64_t> address = address_of(second.substr(at + low.size()), symbol, name);
        if (!third.empty())
            return unknown_place;
        if (!address)
            return {.kind = AssemblyOperand::UnknownSymbol, .name = name};
        out.number = static_cast<int64_t>(*address & 0xfff);
        return out;
    }
    if (const std::optional<int64_t> number = whole_number(second)) {
        out.number = *number;
        return third.empty() ? out : unknown_place;
    }
    return parse_index(second, third, out) ? out : unknown_place;
}

} // namespace

AssemblyOperand parse_operand(std::string_view text, const FindSymbol& symbol) {
    if (text.empty())
        return {};
    if (text[0] == '[')
        return parse_memory(text, symbol);
    if (const std::optional<int64_t> number = whole_number(text))
        return {.kind = AssemblyOperand::Constant, .number = *number};
    if (text == "xzr" || text == "wzr")
        return {.kind = AssemblyOperand::Constant};
    if (const std::optional<RegisterFile::Part> reg = registers().find(text))
        return {.kind = AssemblyOperand::Register, .part = *reg};
    return is_vector(text) ? AssemblyOperand{.kind = AssemblyOperand::UnknownRegister, .name = text}
                           : AssemblyOperand();
}

} // namespace sonde::arm64
