// Reads the notes of static markers. A program with DTRACE_PROBE2(app, request, id, name) contains a `nop` and a note
// with three strings:
//
//     app request "-4@%edi 8@16(%rsp)"
//
// An argument has a size in bytes, which is negative for signed numbers, and an operand in the syntax of the GNU
// assembler. The compiler chooses the operand, so it can be anything that an instruction can name. An operand that a
// probe cannot read becomes an Unavailable location with a reason; the other arguments remain usable.
#include "frontend/machine/usdt.h"

#include <elf.h>

#include <charconv>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "frontend/machine/location.h"

namespace sonde {
namespace {

// Reads a number at the beginning of the text, and removes it from the text.
std::optional<int64_t> take_number(std::string_view& text) {
    std::string_view rest = text;
    bool negative = !rest.empty() && rest[0] == '-';
    if (negative || (!rest.empty() && rest[0] == '+'))
        rest.remove_prefix(1);
    int base = 10;
    if (rest.starts_with("0x") || rest.starts_with("0X")) {
        base = 16;
        rest.remove_prefix(2);
    }
    uint64_t value = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (error != std::errc())
        return std::nullopt;
    text = rest.substr(static_cast<size_t>(end - rest.data()));
    return static_cast<int64_t>(negative ? 0 - value : value);
}

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

// Parses disp(%base,%index,scale). Each part is optional; disp is a number, a symbol, or a symbol plus a number.
Location in_memory(std::string_view text, uint64_t address,
                   const std::function<std::optional<uint64_t>(std::string_view)>& symbol,
                   const Architecture& architecture) {
    const RegisterFile& registers = architecture.registers();
    Location bad = unavailable(fmt::format("is at `{}`, a place that a probe cannot read", text));
    size_t open = text.find('(');
    std::string_view displacement = text.substr(0, std::min(open, text.size()));
    Location out;
    out.kind = Location::Memory;
    // The displacement is a sum of numbers and at most one symbol; compilers leave the addition to the assembler.
    int64_t constant = 0;
    bool linked = false; // the displacement is an address in the file
    while (!displacement.empty()) {
        if (std::optional<int64_t> number = take_number(displacement)) {
            constant += *number;
            continue;
        }
        const bool is_added = displacement[0] == '+';
        displacement.remove_prefix(is_added ? 1 : 0);
        size_t end = displacement.find_first_of("+-");
        std::string_view name = displacement.substr(0, std::min(end, displacement.size()));
        if (linked || name.empty())
            return bad;
        std::optional<uint64_t> value = symbol(name);
        if (!value)
            return unavailable(fmt::format("is at the symbol `{}`, which the file does not have", name));
        constant += static_cast<int64_t>(*value);
        linked = true;
        displacement.remove_prefix(name.size());
    }
    if (linked) { // relative to the marker itself
        push(out, LocationOp::Register, registers.instruction_pointer);
        constant -= static_cast<int64_t>(address);
    }
    push(out, LocationOp::Constant, constant);
    if (linked)
        push(out, LocationOp::Add);
    // Addresses in i386 code wrap at 4 GB.
    auto finished = [&] {
        if (architecture.word_size() == 4) {
            push(out, LocationOp::Constant, 0xffffffff);
            push(out, LocationOp::And);
        }
        return out;
    };
    if (open == std::string_view::npos)
        return finished();
    if (text.back() != ')')
        return bad;
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    for (int part = 0; !inside.empty() || part == 0; part++) {
        size_t comma = std::min(inside.find(','), inside.size());
        std::string_view piece = inside.substr(0, comma);
        inside.remove_prefix(std::min(comma + 1, inside.size()));
        if (part == 2) {
            std::optional<int64_t> scale = take_number(piece);
            if (!scale || !piece.empty() || out.ops.size() < 2)
                return bad;
            // Scale the index, which was pushed last (before the addition).
            out.ops.pop_back();
            push(out, LocationOp::Constant, *scale);
            push(out, LocationOp::Mul);
            push(out, LocationOp::Add);
            continue;
        }
        if (piece.empty())
            continue;
        const std::optional<RegisterFile::Part> reg = piece[0] == '%' ? registers.find(piece.substr(1)) : std::nullopt;
        if (!reg || reg->size != static_cast<uint32_t>(architecture.word_size()) || part > 2)
            return bad;
        if (reg->number == registers.instruction_pointer) {
            // A number relative to rip counts from the next instruction. The assembler converts symbols to such
            // numbers, but the note still has the symbol.
            if (!linked)
                push(out, LocationOp::Register, reg->number), push(out, LocationOp::Add);
            continue;
        }
        push(out, LocationOp::Register, reg->number);
        push(out, LocationOp::Add);
    }
    return finished();
}

} // namespace

// The format is SIZE@OPERAND, where a negative size means a signed number and an `f` after it a floating-point number.
// The operand is in the syntax of the GNU assembler: `$5`, `%rdi`, or `8(%rbp)`.
UsdtArgument parse_usdt_argument(std::string_view text, uint64_t address,
                                 const std::function<std::optional<uint64_t>(std::string_view)>& symbol,
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
    if (rest.starts_with("$")) {
        rest.remove_prefix(1);
        std::optional<int64_t> value = take_number(rest);
        if (value && rest.empty()) {
            out.location.kind = Location::Value;
            push(out.location, LocationOp::Constant, *value);
            return out;
        }
    } else if (rest.starts_with("%")) {
        if (const std::optional<RegisterFile::Part> reg = architecture.registers().find(rest.substr(1))) {
            out.location = in_register(*reg);
            return out;
        }
        out.location = unavailable(fmt::format("is in the register {}, which a probe cannot read", rest.substr(1)));
        return out;
    } else if (!rest.empty()) {
        out.location = in_memory(rest, address, symbol, architecture);
        return out;
    }
    out.location = unavailable(fmt::format("is `{}` in the mark's note, an operand that a probe cannot read", text));
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
    std::string_view notes = file.section_data(".note.stapsdt");
    auto padded = [](uint32_t size) { return (static_cast<size_t>(size) + 3) & ~size_t{3}; };
    // A note has a header, the owner, and a description: three addresses, then three strings (provider, name,
    // arguments).
    while (notes.size() >= 12) {
        uint32_t head[3]; // sizes of the owner's name and of the description, and the type
        std::memcpy(head, notes.data(), sizeof head);
        notes.remove_prefix(sizeof head);
        if (padded(head[0]) > notes.size() || padded(head[1]) > notes.size() - padded(head[0]))
            break;
        std::string_view owner = notes.substr(0, head[0]);
        std::string_view text = notes.substr(padded(head[0]), head[1]);
        notes.remove_prefix(padded(head[0]) + padded(head[1]));
        // The addresses of the marker, of .stapsdt.base when the code was assembled, and of the semaphore.
        uint64_t words[3] = {};
        const auto word = static_cast<size_t>(architecture->word_size());
        if (owner != std::string_view("stapsdt\0", 8) || head[2] != 3 || text.size() < std::size(words) * word)
            continue;
        for (uint64_t& one : words) {
            std::memcpy(&one, text.data(), word);
            text.remove_prefix(word);
        }
        std::string_view strings[3];
        bool complete = true;
        for (std::string_view& one : strings) {
            size_t end = text.find('\0');
            complete = complete && end != std::string_view::npos;
            one = text.substr(0, std::min(end, text.size()));
            text.remove_prefix(std::min(one.size() + 1, text.size()));
        }
        if (!complete || strings[0].empty() || strings[1].empty())
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
        while (!arguments.empty()) {
            size_t end = std::min(arguments.find(' '), arguments.size());
            if (end > 0)
                mark.arguments.push_back(
                    parse_usdt_argument(arguments.substr(0, end), mark.address, symbol, *architecture));
            arguments.remove_prefix(std::min(end + 1, arguments.size()));
        }
        marks.push_back(std::move(mark));
    }
    return marks;
}

} // namespace sonde
