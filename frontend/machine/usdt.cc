// Reads the notes of static markers. A program with DTRACE_PROBE2(app, request, id, name) contains a `nop` and a note
// with three strings:
//
//     app request "-4@%edi 8@16(%rsp)"     (x86-64)
//
// An argument has a size in bytes, which is negative for signed numbers, and an operand in the syntax of the GNU
// assembler. The compiler chooses the operand, so it can be anything that an instruction can name. An operand that a
// probe cannot read becomes an Unavailable location with a reason; the other arguments remain usable.
#include "frontend/machine/usdt.h"

#include <elf.h>

#include <map>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/elf_notes.h"
#include "frontend/machine/location.h"

namespace sonde {
namespace {

void push(Location& location, LocationOp::Code code, int64_t operand = 0) { location.ops.push_back({code, operand}); }

Location in_register(const RegisterFile::Part& reg) {
    Location out;
    if (reg.first_bit == 0) {
        out.kind = Location::Register;
        out.reg = reg.number;
        return out;
    }
    out.kind = Location::Value;
    push(out, LocationOp::Register, reg.number);
    push(out, LocationOp::Constant, reg.first_bit);
    push(out, LocationOp::Shr);
    return out;
}

Location in_memory(const AssemblyOperand& operand, uint64_t address, const Architecture& architecture) {
    Location out;
    out.kind = Location::Memory;
    int64_t constant = operand.number;
    if (operand.is_linked) { // relative to the marker itself
        push(out, LocationOp::Register, architecture.registers().instruction_pointer);
        constant -= static_cast<int64_t>(address);
    }
    push(out, LocationOp::Constant, constant);
    if (operand.is_linked)
        push(out, LocationOp::Add);
    if (operand.base >= 0) {
        push(out, LocationOp::Register, operand.base);
        push(out, LocationOp::Add);
    }
    if (operand.index >= 0) {
        push(out, LocationOp::Register, operand.index);
        if (const int64_t unused = 64 - 8 * int64_t{operand.index_size}; unused > 0) {
            push(out, LocationOp::Constant, unused);
            push(out, LocationOp::Shl);
            push(out, LocationOp::Constant, unused);
            push(out, operand.extends_sign ? LocationOp::Sar : LocationOp::Shr);
        }
        if (operand.scale != 1) {
            push(out, LocationOp::Constant, operand.scale);
            push(out, LocationOp::Mul);
        }
        push(out, LocationOp::Add);
    }
    if (architecture.word_size() == 4) { // addresses wrap at 4 GB
        push(out, LocationOp::Constant, 0xffffffff);
        push(out, LocationOp::And);
    }
    return out;
}

Location in_constant(int64_t value) {
    Location out;
    out.kind = Location::Value;
    push(out, LocationOp::Constant, value);
    return out;
}

} // namespace

// The format is SIZE@OPERAND, where a negative size means a signed number and an `f` after it a floating-point number.
// The operand is in the architecture's syntax of the GNU assembler.
UsdtArgument parse_usdt_argument(std::string_view text, uint64_t address, const FindSymbol& symbol,
                                 const Architecture& architecture) {
    UsdtArgument out;
    std::string_view rest = text;
    std::optional<int64_t> size = take_number(rest);
    if (size) {
        out.is_signed = *size < 0;
        out.size = static_cast<uint32_t>(*size < 0 ? 0 - static_cast<uint64_t>(*size) : static_cast<uint64_t>(*size));
        if (rest.starts_with("f")) {
            out.is_float = true;
            rest.remove_prefix(1);
        }
    }
    if (!size || !rest.starts_with("@") || (out.size != 1 && out.size != 2 && out.size != 4 && out.size != 8)) {
        out.size = 8;
        out.location =
            unavailable(fmt::format("is `{}` in the mark's note, an operand that a probe cannot read", text));
        return out;
    }
    rest.remove_prefix(1);
    const AssemblyOperand operand = architecture.parse_operand(rest, symbol);
    switch (operand.kind) {
    case AssemblyOperand::Unknown:
        out.location =
            unavailable(fmt::format("is `{}` in the mark's note, an operand that a probe cannot read", text));
        break;
    case AssemblyOperand::UnknownPlace:
        out.location = unavailable(fmt::format("is at `{}`, a place that a probe cannot read", rest));
        break;
    case AssemblyOperand::UnknownRegister:
        out.location = unavailable(fmt::format("is in the register {}, which a probe cannot read", operand.name));
        break;
    case AssemblyOperand::UnknownSymbol:
        out.location = unavailable(fmt::format("is at the symbol `{}`, which the file does not have", operand.name));
        break;
    case AssemblyOperand::Constant:
        out.location = in_constant(operand.number);
        break;
    case AssemblyOperand::Register:
        out.location = in_register(operand.part);
        break;
    case AssemblyOperand::Memory:
        out.location = in_memory(operand, address, architecture);
        break;
    }
    return out;
}

// Removes the first argument from a list that blanks separate. A blank in brackets does not separate:
// "-4@w1 -8@[sp, 72]".
static std::string_view take_argument(std::string_view& list) {
    size_t end = 0;
    for (bool inside = false; end < list.size() && (inside || list[end] != ' '); end++)
        inside = list[end] == '[' || (inside && list[end] != ']');
    const std::string_view out = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return out;
}

std::vector<UsdtMark> read_usdt_marks(const ElfFile& file) {
    std::vector<UsdtMark> marks;
    const Architecture* architecture = architecture_of(file.machine(), file.is_32_bit());
    if (!architecture)
        return marks;
    const ElfSection* base_section = file.find_section(".stapsdt.base");
    std::map<std::string, uint64_t, std::less<>> symbols;
    bool symbols_read = false;
    auto symbol = [&](std::string_view name) -> std::optional<uint64_t> {
        if (!symbols_read)
            file.for_each_symbol([&](const ElfSymbol& one) {
                if (one.section != 0)
                    symbols.emplace(one.name, one.address);
                return true;
            });
        symbols_read = true;
        auto found = symbols.find(name);
        return found == symbols.end() ? std::nullopt : std::optional(found->second);
    };
    // The contents of a note are three addresses, then three strings (provider, name, arguments).
    for (const ElfNote& note : read_notes(file.section_data(".note.stapsdt"))) {
        constexpr uint32_t usdt_mark = 3;
        if (note.owner != "stapsdt" || note.type != usdt_mark)
            continue;
        ByteCursor contents(note.contents);
        // The addresses of the marker, of .stapsdt.base when the code was assembled, and of the semaphore.
        uint64_t words[3] = {};
        for (uint64_t& one : words)
            one = architecture->word_size() == 8 ? contents.take<uint64_t>() : contents.take<uint32_t>();
        std::string_view strings[3];
        for (std::string_view& one : strings)
            one = contents.string();
        if (contents.failed() || strings[0].empty() || strings[1].empty())
            continue;
        // prelink moves sections without updating the notes.
        uint64_t moved = base_section ? base_section->address - words[1] : 0;
        UsdtMark mark;
        mark.provider = strings[0];
        mark.name = strings[1];
        mark.address = words[0] + moved;
        if (words[2])
            mark.semaphore_offset = file.file_offset(words[2] + moved);
        std::string_view arguments = strings[2];
        while (!arguments.empty())
            if (const std::string_view one = take_argument(arguments); !one.empty())
                mark.arguments.push_back(parse_usdt_argument(one, mark.address, symbol, *architecture));
        marks.push_back(std::move(mark));
    }
    return marks;
}

} // namespace sonde
