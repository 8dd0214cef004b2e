// Decodes one instruction. Its parts are, in this order (Intel SDM, volume 2, chapter 2):
//
//     prefixes | REX or VEX/EVEX/XOP | opcode (1 to 3 bytes) | ModRM | SIB | displacement | immediate
//
// Only the opcode is always present. The opcode and the prefixes determine whether ModRM and an immediate follow; ModRM
// determines whether SIB and a displacement follow. If one of these sizes is wrong, all following instructions are
// decoded wrongly. tests/unit/x86_decode_test.cc therefore compares this decoder with LLVM's.
#include "arch/x86_64/decode.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace sonde {
namespace {

// Reads bytes, and remembers whether it ran past the end.
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
        good_ = good_ && size <= code_.size() - at_;
        if (!good_)
            return 0;
        uint64_t value = 0;
        for (size_t i = 0; i < size; i++)
            value |= static_cast<uint64_t>(static_cast<uint8_t>(code_[at_ + i])) << (8 * i);
        at_ += size;
        size_t unused = 64 - 8 * size;
        return static_cast<int64_t>(value << unused) >> unused;
    }

  private:
    std::string_view code_;
    size_t at_ = 0;
    bool good_ = true;
};

struct Prefixes {
    bool is_32_bit = false;    // a 32-bit program
    bool operand16 = false;    // 0x66
    bool address_size = false; // 0x67: addresses of half the usual size
    bool lock = false;
    bool segment = false;
    uint8_t repeat = 0; // 0xf2 or 0xf3
    uint8_t rex = 0;
    bool wide() const { return (rex & 8) != 0; }
    // The prefix that may be part of the opcode, numbered as in EVEX.
    uint8_t pp() const { return repeat == 0xf2 ? 3 : repeat == 0xf3 ? 2 : operand16 ? 1 : 0; }
};

constexpr bool between(uint8_t value, uint8_t low, uint8_t high) { return value >= low && value <= high; }

// ---- tables

// Legacy prefixes. REX, which follows them, is not included.
constexpr bool is_legacy_prefix(uint8_t byte) {
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

// One-byte opcodes that do not exist in 64-bit mode.
constexpr bool is_invalid(uint8_t op) {
    constexpr uint8_t invalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37,
                                   0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd5, 0xd6, 0xea};
    return std::ranges::find(invalid, op) != std::end(invalid);
}

constexpr bool is_followed_by_modrm(int map, uint8_t op, bool is_32_bit) {
    if (map == 1)
        return !(between(op, 0x05, 0x0b) || op == 0x0e || between(op, 0x30, 0x37) || op == 0x77 ||
                 between(op, 0x80, 0x8f) || between(op, 0xa0, 0xa2) || between(op, 0xa8, 0xaa) ||
                 between(op, 0xc8, 0xcf));
    if (op < 0x40)
        return op % 8 < 4;
    if (is_32_bit && (op == 0x62 || op == 0xc4 || op == 0xc5)) // bound, les, lds
        return true;
    return op == 0x63 || op == 0x69 || op == 0x6b || between(op, 0x80, 0x8f) || op == 0xc0 || op == 0xc1 ||
           op == 0xc6 || op == 0xc7 || between(op, 0xd0, 0xd3) || between(op, 0xd8, 0xdf) || op == 0xf6 || op == 0xf7 ||
           op == 0xfe || op == 0xff;
}

// The answers of the functions above, for each byte: some analyses decode all code of a program.
enum : uint8_t { Prefix = 1, Invalid = 2, Modrm = 4, ModrmIn32Bit = 8, ModrmAfter0f = 16 };

constexpr auto byte_facts = [] {
    std::array<uint8_t, 256> out{};
    for (size_t i = 0; i < out.size(); i++) {
        const auto byte = static_cast<uint8_t>(i);
        out[i] = static_cast<uint8_t>((is_legacy_prefix(byte) ? Prefix : 0) | (is_invalid(byte) ? Invalid : 0) |
                                      (is_followed_by_modrm(0, byte, false) ? Modrm : 0) |
                                      (is_followed_by_modrm(0, byte, true) ? ModrmIn32Bit : 0) |
                                      (is_followed_by_modrm(1, byte, false) ? ModrmAfter0f : 0));
    }
    return out;
}();

bool is_prefix(uint8_t byte) { return byte_facts[byte] & Prefix; }

bool has_modrm(int map, uint8_t op, bool is_32_bit) {
    return map >= 2 || (byte_facts[op] & (map == 1 ? ModrmAfter0f : is_32_bit ? ModrmIn32Bit : Modrm));
}

// ---- opcodes of more bytes ------------------------------------------------------------------------------------------

enum Encoding : uint8_t { Legacy, Vex, Evex, Xop };

using OpcodeSet = std::array<uint64_t, 4>;

consteval uint8_t digit(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

// Parses opcode ranges such as "00-03 0b".
consteval OpcodeSet opcode_set(std::string_view ranges) {
    OpcodeSet out{};
    for (size_t at = 0; at < ranges.size(); at++) {
        int low = digit(ranges[at]) << 4 | digit(ranges[at + 1]), high = low;
        at += 2;
        if (at < ranges.size() && ranges[at] == '-') {
            high = digit(ranges[at + 1]) << 4 | digit(ranges[at + 2]);
            at += 3;
        }
        for (int op = low; op <= high; op++)
            out[static_cast<size_t>(op) / 64] |= uint64_t{1} << op % 64;
    }
    return out;
}

struct KnownOpcodes {
    Encoding encoding;
    int map;
    uint8_t pp;
    OpcodeSet opcodes;
};

constexpr KnownOpcodes known_opcodes[] = {
#define OPCODES(encoding, map, pp, ranges) {encoding, map, pp, opcode_set(ranges)},
#include "arch/x86_64/opcodes.def"
#undef OPCODES
};

// The row in known_opcodes for each encoding, map and prefix, or no_row.
constexpr uint8_t no_row = 0xff;
constexpr int map_limit = 32, prefix_limit = 4;
constexpr size_t row_index(Encoding encoding, int map, uint8_t pp) {
    return (static_cast<size_t>(encoding) * map_limit + static_cast<size_t>(map)) * prefix_limit + pp;
}
constexpr auto rows_of_known_opcodes = [] {
    std::array<uint8_t, row_index(Xop, map_limit - 1, prefix_limit - 1) + 1> out{};
    out.fill(no_row);
    for (size_t i = 0; i < std::size(known_opcodes); i++)
        out[row_index(known_opcodes[i].encoding, known_opcodes[i].map, known_opcodes[i].pp)] = static_cast<uint8_t>(i);
    return out;
}();

// XOP instructions have no prefix that is part of the opcode.
bool is_known(Encoding encoding, int map, uint8_t pp, uint8_t opcode) {
    const uint8_t row = rows_of_known_opcodes[row_index(encoding, map, pp)];
    return row != no_row && (known_opcodes[row].opcodes[opcode / 64] >> opcode % 64 & 1);
}

// Returns the size of the immediate after a one-byte opcode. `enter` has two immediates; the caller adds the second.
size_t immediate_size(uint8_t op, uint8_t modrm, const Prefixes& prefixes) {
    size_t word = prefixes.operand16 && !prefixes.wide() ? 2 : 4;
    if (op < 0x40)
        return op % 8 == 4 ? 1 : op % 8 == 5 ? word : 0;
    if (between(op, 0x70, 0x7f) || between(op, 0xb0, 0xb7) || between(op, 0xe0, 0xe7))
        return 1;
    if (between(op, 0xb8, 0xbf))
        return prefixes.wide() ? 8 : word;
    if (between(op, 0xa0, 0xa3))
        return (prefixes.is_32_bit ? 4 : 8) >> (prefixes.address_size ? 1 : 0);
    switch (op) {
    case 0x9a: // far call and far jump in 32-bit programs
    case 0xea:
        return word + 2;
    case 0x82: // the same as 0x80 there
    case 0xd4:
    case 0xd5:
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
    case 0xf6: // `test` has an immediate, the other instructions with this opcode do not
        return (modrm >> 3 & 7) < 2 ? 1 : 0;
    case 0xf7:
        return (modrm >> 3 & 7) < 2 ? word : 0;
    default:
        return 0;
    }
}

// In the other maps, only these opcodes have an immediate, of one byte; and the near conditional jumps have four bytes.
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

// Reads the operand of an instruction with the prefix 0x67 in a 32-bit program, which uses 16-bit addresses.
void read_short_operand(Reader& reader, X86Instruction& out) {
    const int mode = out.modrm >> 6;
    const bool no_base = mode == 0 && (out.modrm & 7) == 6;
    out.displacement = reader.number(mode == 1 ? 1 : mode == 2 || no_base ? 2 : 0);
}

// Reads ModRM, SIB and the displacement (Intel SDM, volume 2, section 2.1.5). ModRM consists of mode (2 bits), reg (3)
// and rm (3), and SIB of scale (2), index (3) and base (3):
//
// * Mode 3: rm is a register.
// * Mode 0, 1 or 2: rm is the base of an address, with a displacement of 0, 1 or 4 bytes.
// * In these modes, rm 4 means that SIB follows and has the base. Index 4 in SIB means no index.
// * In mode 0, base 5 means a displacement of 4 bytes without a base. Without SIB, 64-bit code adds the address of the
//   next instruction.
//
// Example: `48 8b 44 24 08` is mov 8(%rsp),%rax. ModRM 44 has mode 1, reg 0 (rax) and rm 4. SIB 24 has no index and
// the base 4 (rsp).
void read_operand(Reader& reader, const Prefixes& prefixes, X86Instruction& out) {
    out.has_modrm = true;
    out.modrm = reader.byte();
    int mode = out.modrm >> 6, rm = out.modrm & 7;
    if (mode == 3)
        return;
    if (prefixes.is_32_bit && prefixes.address_size)
        return read_short_operand(reader, out);
    int base = rm;
    if (rm == 4) {
        const uint8_t sib = reader.byte();
        const int index = (sib >> 3 & 7) | (prefixes.rex & 2) << 2;
        constexpr int none = 4;
        out.has_sib = true;
        out.index = index == none ? -1 : index;
        base = sib & 7;
    }
    bool no_base = mode == 0 && base == 5;
    if (!no_base)
        out.base = base | (prefixes.rex & 1) << 3;
    out.displacement = reader.number(mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0);
}

// AMD's opcode maps after the prefix 0x8f (AMD64 Architecture Programmer's Manual, volume 6, section 1.2).
constexpr int xop_bytes = 8, xop_words = 10; // named after their immediates; the map in between has none

// Reads an instruction after the first byte of its prefix. Returns false if it is unknown. The prefixes are, with the
// bits that matter here (m: the opcode map; p: the prefix that is part of the opcode):
//
//     VEX    c5  ......pp                      the map is 0f
//     VEX    c4  ...mmmmm  ......pp
//     EVEX   62  ....0mmm  .....1pp  ........
//     XOP    8f  ...mmmmm  ......pp            the map is 8 or more
bool read_vector(Reader& reader, uint8_t prefix, const Prefixes& prefixes, X86Instruction& out) {
    // These prefixes are invalid before a vector prefix.
    if (prefixes.operand16 || prefixes.lock || prefixes.repeat || prefixes.rex)
        return false;
    const Encoding encoding = prefix == 0x62 ? Evex : prefix == 0x8f ? Xop : Vex;
    out.is_vector = true;
    out.map = 1;
    uint8_t payload = reader.byte();
    if (prefix == 0x62) {
        out.map = payload & 0x07;
        const uint8_t second = reader.byte();
        reader.byte();
        out.pp = second & 3;
        // In APX, these bits select registers above 15.
        if ((payload & 8) || !(second & 4))
            return false;
    } else if (prefix != 0xc5) {
        out.map = payload & 0x1f;
        payload = reader.byte();
    }
    if (prefix != 0x62)
        out.pp = payload & 3;
    out.opcode = reader.byte();
    if (!is_known(encoding, out.map, out.pp, out.opcode))
        return false;
    if (!(out.map == 1 && out.opcode == 0x77)) // vzeroupper
        read_operand(reader, prefixes, out);
    if (encoding == Xop)
        reader.number(out.map == xop_bytes ? 1 : out.map == xop_words ? 4 : 0);
    else
        reader.number(immediate_size(out.map, out.opcode));
    return true;
}

// Reads an instruction after the first byte of its opcode. Returns false if it is unknown.
bool read_plain(Reader& reader, const Prefixes& prefixes, X86Instruction& out) {
    out.operand16 = prefixes.operand16;
    out.repeat = prefixes.repeat;
    out.lock = prefixes.lock;
    out.rex = prefixes.rex;
    out.pp = prefixes.pp();
    if (out.opcode == 0x0f) {
        out.opcode = reader.byte();
        out.map = out.opcode == 0x38 ? 2 : out.opcode == 0x3a ? 3 : 1;
        if (out.map != 1)
            out.opcode = reader.byte();
        if (!is_known(Legacy, out.map, out.pp, out.opcode))
            return false;
    } else if (!prefixes.is_32_bit && (byte_facts[out.opcode] & Invalid)) {
        return false;
    }
    if (has_modrm(out.map, out.opcode, prefixes.is_32_bit))
        read_operand(reader, prefixes, out);
    out.immediate = reader.number(out.map == 0 ? immediate_size(out.opcode, out.modrm, prefixes)
                                               : immediate_size(out.map, out.opcode));
    if (out.map == 0 && out.opcode == 0xc8) // enter
        reader.byte();
    // SSE4a's extrq and insertq have two bytes of immediates. vmread has the same opcode but neither prefix.
    if (out.map == 1 && out.opcode == 0x78 && (out.pp == 1 || out.pp == 3))
        reader.number(2);
    return true;
}

// Prefixes may be repeated and in any order; of 0xf2 and 0xf3, the last one counts.
Prefixes read_prefixes(Reader& reader, X86Mode mode) {
    Prefixes out;
    out.is_32_bit = mode == X86Mode::Protected;
    while (reader.good() && is_prefix(reader.peek())) {
        uint8_t prefix = reader.byte();
        out.operand16 |= prefix == 0x66;
        out.address_size |= prefix == 0x67;
        out.lock |= prefix == 0xf0;
        out.segment |= prefix == 0x26 || prefix == 0x2e || prefix == 0x36 || prefix == 0x3e;
        if (prefix == 0xf2 || prefix == 0xf3)
            out.repeat = prefix;
    }
    return out;
}

// Whether the first opcode byte begins a vector instruction. In 64-bit mode, `pop` begins with the same byte as XOP,
// but then a part of the map number is 0. In 32-bit mode, the other bytes are also `bound`, `les` and `lds`, which have
// a memory operand.
bool begins_vector(uint8_t opcode, uint8_t next, X86Mode mode) {
    if (opcode == 0x8f)
        return (next & 0x1f) >= xop_bytes;
    const bool is_prefix = opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62;
    return is_prefix && (mode == X86Mode::Long || next >> 6 == 3);
}

} // namespace

std::optional<X86Instruction> decode_x86(std::string_view code, X86Mode mode) {
    constexpr size_t max_length = 15;
    Reader reader(code.substr(0, max_length));
    X86Instruction out;
    Prefixes prefixes = read_prefixes(reader, mode);
    auto is_rex = [&] { return mode == X86Mode::Long && (reader.peek() & 0xf0) == 0x40; };
    if (is_rex())
        prefixes.rex = reader.byte();
    // Processors ignore a REX prefix before another prefix. Compilers do not generate that, so these bytes are probably
    // not code.
    if (prefixes.rex && (is_prefix(reader.peek()) || is_rex()))
        return std::nullopt;
    out.opcode = reader.byte();
    out.segment = prefixes.segment;
    const bool known = begins_vector(out.opcode, reader.peek(), mode) ? read_vector(reader, out.opcode, prefixes, out)
                                                                      : read_plain(reader, prefixes, out);
    // With this prefix, Intel processors read a distance of four bytes, AMD processors of two.
    bool near_jump = out.is_direct_jump() && (out.map == 1 || out.opcode == 0xe9);
    if ((near_jump || (out.is_call() && out.opcode == 0xe8)) && prefixes.operand16 && !prefixes.wide())
        return std::nullopt;
    // With 0x66, these have another size on AMD processors. No assembler generates them.
    const bool short_flow = (out.map == 0 && out.opcode >> 2 == 0x38) || (out.is_call() && out.opcode == 0xff);
    if (!known || !reader.good() || (short_flow && out.operand16 && mode == X86Mode::Long))
        return std::nullopt;
    out.length = reader.at();
    return out;
}

} // namespace sonde
