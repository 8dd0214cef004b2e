#include "frontend/types/x86_code.h"

namespace sonde {
namespace {

// Reads on, and remembers if there was nothing left.
class Reader {
  public:
    explicit Reader(std::string_view code) : code_(code) {}

    bool good() const { return good_; }
    size_t at() const { return at_; }
    uint8_t peek() const { return at_ < code_.size() ? static_cast<uint8_t>(code_[at_]) : 0; }
    uint8_t byte() {
        good_ = good_ && at_ < code_.size();
        return good_ ? static_cast<uint8_t>(code_[at_++]) : 0;
    }
    int64_t number(size_t size) {
        if (size == 0)
            return 0;
        uint64_t value = 0;
        for (size_t i = 0; i < size; i++)
            value |= static_cast<uint64_t>(byte()) << (8 * i);
        size_t unused = 64 - 8 * size;
        return static_cast<int64_t>(value << unused) >> unused;
    }

  private:
    std::string_view code_;
    size_t at_ = 0;
    bool good_ = true;
};

struct Prefixes {
    bool operand16 = false; // 0x66
    bool address32 = false; // 0x67
    bool scalar = false;    // 0xf2
    uint8_t rex = 0;
    bool wide() const { return (rex & 8) != 0; }
};

bool between(uint8_t value, uint8_t low, uint8_t high) { return value >= low && value <= high; }

// REX, which comes last, is none of these.
bool is_prefix(uint8_t byte) {
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    default:
        return false;
    }
}

// Opcodes of one byte that do not exist in 64-bit mode.
bool is_invalid(uint8_t op) {
    switch (op) {
    case 0x06:
    case 0x07:
    case 0x0e:
    case 0x16:
    case 0x17:
    case 0x1e:
    case 0x1f:
    case 0x27:
    case 0x2f:
    case 0x37:
    case 0x3f:
    case 0x60:
    case 0x61:
    case 0x82:
    case 0x9a:
    case 0xce:
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xea:
        return true;
    default:
        return false;
    }
}

// The same for opcodes after 0x0f.
bool is_invalid_second(uint8_t op) {
    return op == 0x04 || op == 0x0a || op == 0x0c || between(op, 0x24, 0x27) || op == 0x36 || op == 0x39 ||
           between(op, 0x3b, 0x3f) || op == 0x7a || op == 0x7b;
}

bool has_modrm(int map, uint8_t op) {
    if (map >= 2)
        return true;
    if (map == 1)
        return !(between(op, 0x05, 0x0b) || op == 0x0e || between(op, 0x30, 0x37) || op == 0x77 ||
                 between(op, 0x80, 0x8f) || between(op, 0xa0, 0xa2) || between(op, 0xa8, 0xaa) ||
                 between(op, 0xc8, 0xcf));
    if (op < 0x40)
        return op % 8 < 4;
    return op == 0x63 || op == 0x69 || op == 0x6b || between(op, 0x80, 0x8f) || op == 0xc0 || op == 0xc1 ||
           op == 0xc6 || op == 0xc7 || between(op, 0xd0, 0xd3) || between(op, 0xd8, 0xdf) || op == 0xf6 || op == 0xf7 ||
           op == 0xfe || op == 0xff;
}

// Bytes of the immediate of an opcode with one byte; the last of two, for `enter`, is added by the caller.
size_t immediate_size(uint8_t op, uint8_t modrm, const Prefixes& prefixes) {
    size_t word = prefixes.operand16 && !prefixes.wide() ? 2 : 4;
    if (op < 0x40)
        return op % 8 == 4 ? 1 : op % 8 == 5 ? word : 0;
    if (between(op, 0x70, 0x7f) || between(op, 0xb0, 0xb7) || between(op, 0xe0, 0xe7))
        return 1;
    if (between(op, 0xb8, 0xbf))
        return prefixes.wide() ? 8 : word;
    if (between(op, 0xa0, 0xa3))
        return prefixes.address32 ? 4 : 8;
    switch (op) {
    case 0x6a:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xa8:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
    case 0xeb:
        return 1;
    case 0xc2:
    case 0xc8:
    case 0xca:
        return 2;
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7:
        return word;
    case 0xe8:
    case 0xe9:
        return 4;
    case 0xf6: // test has one, the others of its group not
        return (modrm >> 3 & 7) < 2 ? 1 : 0;
    case 0xf7:
        return (modrm >> 3 & 7) < 2 ? word : 0;
    default:
        return 0;
    }
}

// In the other maps only these have one, of one byte; and the long conditional jumps.
size_t immediate_size(int map, uint8_t op) {
    if (map == 3)
        return 1;
    if (map != 1)
        return 0;
    if (between(op, 0x80, 0x8f))
        return 4;
    return op == 0x0f /* 3DNow!: its opcode */ || between(op, 0x70, 0x73) || op == 0xa4 || op == 0xac || op == 0xba ||
                   op == 0xc2 || between(op, 0xc4, 0xc6)
               ? 1
               : 0;
}

void read_operand(Reader& reader, const Prefixes& prefixes, X86Instruction& out) {
    out.has_modrm = true;
    out.modrm = reader.byte();
    int mode = out.modrm >> 6, rm = out.modrm & 7;
    if (mode == 3)
        return;
    int base = rm;
    if (rm == 4)
        base = reader.byte() & 7; // SIB
    bool no_base = mode == 0 && base == 5;
    if (!no_base)
        out.base = base | (prefixes.rex & 1) << 3;
    out.displacement = reader.number(mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0);
}

// AMD's maps after the prefix 0x8f (AMD64 Architecture Programmer's Manual, volume 6, section 1.2).
constexpr int xop_bytes = 8, xop_words = 10; // by their immediates; the one between has none

// After the first byte of a VEX (0xc5, 0xc4), EVEX (0x62) or XOP (0x8f) prefix.
void read_vector(Reader& reader, uint8_t prefix, X86Instruction& out) {
    out.is_vector = true;
    out.map = 1;
    uint8_t payload = reader.byte();
    if (prefix != 0xc5)
        out.map = payload & (prefix == 0x62 ? 0x07 : 0x1f);
    for (int more = prefix == 0xc5 ? 0 : prefix == 0x62 ? 2 : 1; more > 0; more--)
        reader.byte();
    out.opcode = reader.byte();
    if (!(out.map == 1 && out.opcode == 0x77)) // vzeroupper
        read_operand(reader, {}, out);
    if (prefix == 0x8f)
        reader.number(out.map == xop_bytes ? 1 : out.map == xop_words ? 4 : 0);
    else
        reader.number(immediate_size(out.map, out.opcode));
}

// Maps of opcodes that VEX and EVEX name; others are no instructions.
bool is_vector_map(uint8_t prefix, int map) {
    switch (prefix) {
    case 0x62:
        return between(static_cast<uint8_t>(map), 1, 3) || map == 5 || map == 6;
    case 0x8f:
        return between(static_cast<uint8_t>(map), xop_bytes, xop_words);
    default:
        return between(static_cast<uint8_t>(map), 1, 3);
    }
}

} // namespace

std::optional<X86Instruction> decode_x86(std::string_view code) {
    constexpr size_t max_length = 15;
    Reader reader(code.substr(0, max_length));
    X86Instruction out;
    Prefixes prefixes;
    while (reader.good() && is_prefix(reader.peek())) {
        uint8_t prefix = reader.byte();
        prefixes.operand16 |= prefix == 0x66;
        prefixes.address32 |= prefix == 0x67;
        prefixes.scalar |= prefix == 0xf2;
    }
    if ((reader.peek() & 0xf0) == 0x40)
        prefixes.rex = reader.byte();
    // Processors ignore a REX in front of other prefixes or of another one; no compiler writes that.
    if (prefixes.rex && (is_prefix(reader.peek()) || (reader.peek() & 0xf0) == 0x40))
        return std::nullopt;
    out.opcode = reader.byte();
    // `pop` has the same first byte as XOP, and there a part of the map's number says 0.
    bool is_xop = out.opcode == 0x8f && (reader.peek() & 0x1f) >= xop_bytes;
    if (uint8_t prefix = out.opcode; prefix == 0xc5 || prefix == 0xc4 || prefix == 0x62 || is_xop) {
        read_vector(reader, prefix, out);
        if (!is_vector_map(prefix, out.map))
            return std::nullopt;
    } else {
        if (out.opcode == 0x0f) {
            out.opcode = reader.byte();
            out.map = out.opcode == 0x38 ? 2 : out.opcode == 0x3a ? 3 : 1;
            if (out.map != 1)
                out.opcode = reader.byte();
            else if (is_invalid_second(out.opcode))
                return std::nullopt;
        } else if (is_invalid(out.opcode)) {
            return std::nullopt;
        }
        if (has_modrm(out.map, out.opcode))
            read_operand(reader, prefixes, out);
        out.immediate = reader.number(out.map == 0 ? immediate_size(out.opcode, out.modrm, prefixes)
                                                   : immediate_size(out.map, out.opcode));
        if (out.map == 0 && out.opcode == 0xc8) // enter
            reader.byte();
        // SSE4a's extrq and insertq, of two bytes; vmread has neither prefix.
        if (out.map == 1 && out.opcode == 0x78 && (prefixes.operand16 || prefixes.scalar))
            reader.number(2);
    }
    // Intel's processors read four bytes of distance here, AMD's two.
    bool near_jump = out.is_direct_jump() && (out.map == 1 || out.opcode == 0xe9);
    if ((near_jump || (out.is_call() && out.opcode == 0xe8)) && prefixes.operand16 && !prefixes.wide())
        return std::nullopt;
    if (!reader.good())
        return std::nullopt;
    out.length = reader.at();
    return out;
}

} // namespace sonde
