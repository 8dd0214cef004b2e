// Lists x86-64 instruction encodings, for tests/instructions: one line for each, as `execute` reads it.
//
//   generate [--few|--all]
//
// The kernel's uprobes look at an instruction's bytes: its prefixes, its opcode byte, and whether its operand is
// relative to the instruction pointer. A fault there concerns a class of encodings, so the list must have every class.
// A class is an opcode byte of an opcode map, in one of the encodings (legacy, VEX, EVEX, XOP), with the prefixes that
// could change its meaning, and with one kind of operand: a register, memory, memory relative to the stack pointer or
// to the instruction pointer in either direction, or memory that is not mapped.
//
// The program has no table of instructions. It makes up all combinations, a few million, and keeps those that LLVM's
// disassembler accepts as one instruction. Combinations that differ only in a register are one class. The program keeps
// the first of those that share prefix, opcode, operand kind and mnemonic. Instructions that share an opcode and differ
// in three bits of the operand byte have different mnemonics, so it keeps them all. An opcode that the disassembler
// rejects in every form is listed as `(unknown)`: another processor may know it.
//
// A line has seven fields, separated by tabs:
//
//   bytes        in hexadecimal, with 00000000 as the displacement from the instruction pointer
//   relative     `-`, or the place of that displacement and its target: `4+` after, `4-` before the code, `4?` a hole
//   placement    `.`, or `x` if the instruction must cross a page
//   space        legacy, vex2, vex, evex, xop, special
//   opcode       map and byte: `0f:eb`
//   operand      its kind: `register`, `rip+` ...
//   text         in LLVM's syntax
//
// The bytes of a special encoding may go on with other instructions, which run after the probed one.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

namespace {

using Bytes = std::vector<uint8_t>;

// Where operands without a register lie. `execute.cc` maps the first and leaves the second unmapped.
constexpr uint32_t mapped_operand = 0x18000200;
constexpr uint32_t unmapped_operand = 0x28000010;
constexpr size_t longest = 15;

// An operand: how the bytes after the opcode look, with the three bits `number` for a register or for the choice in a
// group.
struct OperandKind {
    std::string_view name;
    Bytes (*bytes)(int number, int second);
    int seconds = 1; // values of `second`: the other register
    char relative = 0;
    bool is_each = false; // the kernel may treat each value of `number` differently
};

uint8_t modrm(int mod, int number, int second) { return static_cast<uint8_t>(mod << 6 | number << 3 | second); }

Bytes absolute(int number, uint32_t address) {
    Bytes bytes = {modrm(0, number, 4), 0x25};
    for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<uint8_t>(address >> shift));
    return bytes;
}

Bytes relative(int number, int) { return {modrm(0, number, 5), 0, 0, 0, 0}; }

// The register that comes first is rbx, which no instruction uses without naming it.
constexpr std::array<int, 8> second_registers = {3, 0, 1, 2, 4, 5, 6, 7};

const OperandKind by_register = {
    "register",
    [](int number, int second) { return Bytes{modrm(3, number, second_registers[static_cast<size_t>(second)])}; }, 8};
const OperandKind by_rsp = {"rsp", [](int number, int) { return Bytes{modrm(3, number, 4)}; }};
const OperandKind by_rbx = {"(rbx)", [](int number, int) { return Bytes{modrm(0, number, 3)}; }};
const OperandKind after_code = {"rip+", relative, 1, '+'};
const OperandKind after_code_each = {"rip+", relative, 1, '+', true};
const OperandKind before_code = {"rip-", relative, 1, '-'};
const OperandKind to_a_hole = {"rip to a hole", relative, 1, '?'};
const OperandKind on_stack = {"16(rsp)", [](int number, int) { return Bytes{modrm(1, number, 4), 0x24, 0x10}; }};
const OperandKind in_red_zone = {"-16(rsp)", [](int number, int) { return Bytes{modrm(1, number, 4), 0x24, 0xf0}; }};
const OperandKind indexed = {"8(rsi,rcx,4)", [](int number, int) { return Bytes{modrm(1, number, 4), 0x8e, 8}; }};
const OperandKind by_address = {"absolute", [](int number, int) { return absolute(number, mapped_operand); }};
const OperandKind in_a_hole = {"hole", [](int number, int) { return absolute(number, unmapped_operand); }};

const std::vector<OperandKind> all_kinds = {by_register, by_rsp,      by_rbx,  after_code, before_code, to_a_hole,
                                            on_stack,    in_red_zone, indexed, by_address, in_a_hole};
const std::vector<OperandKind> each_kind = {by_register, by_rsp,      by_rbx,  after_code_each, before_code, to_a_hole,
                                            on_stack,    in_red_zone, indexed, by_address,      in_a_hole};
const std::vector<OperandKind> noise_kinds = {by_rbx, after_code};
const std::vector<OperandKind> few_kinds = {by_register, by_rbx, after_code, on_stack};
const std::vector<OperandKind> fewest_kinds = {by_register, by_rbx, after_code};

struct Encoding {
    std::string_view space;
    std::string map;
    Bytes before; // prefixes and escapes
    uint8_t opcode = 0;
};

// The immediate after the operand. As a distance it stays in the instruction's slot, forwards or backwards.
const Bytes tail = {0x13, 0, 0, 0, 0, 0, 0, 0};
const Bytes backwards = {0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// How many combinations are listed. Few: each opcode of each map with the prefixes that select instructions, and three
// kinds of operands. All: those too that differ only in the length or width of vectors, in masks, or in prefixes that
// mean nothing.
enum class Extent { Few, Usual, All };

bool is_prefix(int byte) {
    return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 || (byte & 0xf0) == 0x40;
}

// Prefixes, and bytes that introduce another opcode map, VEX, EVEX or REX2.
bool is_no_opcode(int byte) {
    return is_prefix(byte) || byte == 0x0f || byte == 0x62 || byte == 0xc4 || byte == 0xc5 || byte == 0xd5;
}

class Generator {
  public:
    explicit Generator(Extent extent) : extent_(extent) {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86Disassembler();
        disassembler_ = LLVMCreateDisasm("x86_64", nullptr, 0, nullptr, nullptr);
    }

    // Lists the forms of an opcode. Returns whether there are any.
    bool list(const Encoding& encoding, const std::vector<OperandKind>& kinds) {
        const bool has_operand = takes_operand(encoding);
        if (!has_operand)
            return list_plain(encoding);
        bool any = false;
        for (const OperandKind& kind : kinds)
            for (int second = 0; second < kind.seconds; ++second)
                for (int number = 0; number < 8; ++number)
                    any |= list_one(encoding, kind, number, second, tail);
        return any;
    }

    Extent extent() const { return extent_; }

    // An opcode that is not known in any form. Its length is not known either: an operand and an immediate follow.
    void list_unknown(const Encoding& encoding) {
        for (const OperandKind* kind : {&by_register, &after_code}) {
            if (kind == &after_code && extent_ != Extent::All)
                continue;
            Bytes bytes = joined(encoding, kind->bytes(0, 0));
            bytes.push_back(0x13);
            print(bytes, encoding, *kind, encoding.before.size() + 2, ".", "(unknown)");
        }
    }

    // An instruction, or several of which the first is meant, in hexadecimal.
    void list_special(std::string_view name, std::string_view text, std::string_view placement = ".") {
        fmt::print("{}\t-\t{}\tspecial\t-\t{}\t{}\n", text, placement, name, describe(text));
    }

  private:
    static Bytes joined(const Encoding& encoding, const Bytes& operand) {
        Bytes bytes = encoding.before;
        bytes.push_back(encoding.opcode);
        bytes.insert(bytes.end(), operand.begin(), operand.end());
        return bytes;
    }

    // The length and the text of the instruction that `bytes` begin with; 0 if they are not an instruction. The
    // disassembler takes some prefixes for instructions; they belong to the next one.
    size_t decode(std::span<uint8_t> bytes, std::string& text) {
        text.clear();
        size_t length = 0;
        while (length < bytes.size()) {
            std::array<char, 256> line{};
            const size_t step = LLVMDisasmInstruction(disassembler_, bytes.data() + length, bytes.size() - length, 0,
                                                      line.data(), line.size());
            if (!step)
                return 0;
            length += step;
            std::string_view written = line.data();
            written.remove_prefix(std::min(written.find_first_not_of('\t'), written.size()));
            text += (text.empty() ? "" : " ");
            for (const char c : written)
                text += c == '\t' ? ' ' : c;
            if (step > 1 || !is_prefix(bytes[length - 1]))
                return length <= longest ? length : 0;
        }
        return 0;
    }

    size_t length_with(const Encoding& encoding, const Bytes& operand) {
        Bytes bytes = joined(encoding, operand);
        bytes.insert(bytes.end(), tail.begin(), tail.end());
        return decode(bytes, text_);
    }

    // Whether an operand byte follows the opcode: then a displacement makes the instruction longer.
    bool takes_operand(const Encoding& encoding) {
        constexpr uint8_t zero_upper = 0x77; // vzeroupper: the only vector instruction without
        if (encoding.space != "legacy")
            return encoding.opcode != zero_upper || encoding.space == "evex";
        for (int number = 0; number < 8; ++number) {
            const size_t direct = length_with(encoding, by_register.bytes(number, 0));
            const size_t indirect = length_with(encoding, after_code.bytes(number, 0));
            if (direct && direct == indirect)
                return false;
        }
        return true;
    }

    bool list_plain(const Encoding& encoding) {
        OperandKind kind = {"-", [](int, int) { return Bytes{}; }};
        const bool is_absolute_move =
            encoding.space == "legacy" && encoding.map == "-" && (encoding.opcode & 0xfc) == 0xa0;
        bool any = list_one(encoding, kind, 0, 0, is_absolute_move ? Bytes{0x00, 0x02, 0x00, 0x18, 0, 0, 0, 0} : tail);
        if (any && (text_.find(" j") != std::string::npos || text_.starts_with("j") ||
                    text_.find("call") != std::string::npos || text_.find("loop") != std::string::npos)) {
            kind.name = "backwards";
            list_one(encoding, kind, 0, 0, backwards);
        }
        return any;
    }

    bool list_one(const Encoding& encoding, const OperandKind& kind, int number, int second, const Bytes& tail) {
        const Bytes operand = kind.bytes(number, second);
        Bytes bytes = joined(encoding, operand);
        const size_t at = bytes.size() - 4;
        bytes.insert(bytes.end(), tail.begin(), tail.end());
        const size_t length = decode(bytes, text_);
        if (length < bytes.size() - tail.size())
            return false;
        bytes.resize(length);
        const std::string key =
            fmt::format("{}/{}/{:02x}/{:02x}/{}/{}", encoding.space, encoding.map, fmt::join(identity(encoding), ""),
                        encoding.opcode, kind.name, mnemonic(kind, number));
        if (!seen_.insert(key).second)
            return true;
        print(bytes, encoding, kind, at, ".", text_);
        if ((encoding.before.empty() || encoding.before[0] == 0x0f) && kind.name == "rip+" && number == 0)
            print(bytes, encoding, kind, at, "x", text_);
        return true;
    }

    // The prefixes that distinguish encodings of the same opcode and mnemonic. Vectors' lengths, widths and masks
    // don't.
    Bytes identity(const Encoding& encoding) const {
        if (extent_ == Extent::All || encoding.space == "legacy")
            return encoding.before;
        Bytes prefix = encoding.before;
        if (encoding.space == "vex" || encoding.space == "xop")
            prefix[2] &= 0x7b; // without the width and the length
        if (encoding.space == "evex")
            prefix = {prefix[1], static_cast<uint8_t>(prefix[2] & 0x7b), static_cast<uint8_t>(prefix[3] & 0x90)};
        return prefix;
    }

    // The instruction's name without its operands. Operands that are relative to the instruction pointer are rewritten
    // with another register, which depends on those that the instruction has: there each register is a class.
    std::string mnemonic(const OperandKind& kind, int number) const {
        std::string name;
        size_t at = 0;
        while (at < text_.size()) {
            const size_t end = std::min(text_.find(' ', at), text_.size());
            const std::string_view word = std::string_view(text_).substr(at, end - at);
            if (word.find_first_of("%$(,") != std::string_view::npos)
                break;
            name += word;
            name += ' ';
            at = end + 1;
        }
        return kind.is_each ? fmt::format("{}{}", name, number) : name;
    }

    static void print(const Bytes& bytes, const Encoding& encoding, const OperandKind& kind, size_t at,
                      std::string_view placement, std::string_view text) {
        const std::string where = kind.relative ? fmt::format("{}{}", at, kind.relative) : "-";
        fmt::print("{:02x}\t{}\t{}\t{}\t{}:{:02x}\t{}\t{}\n", fmt::join(bytes, ""), where, placement, encoding.space,
                   encoding.map, encoding.opcode, kind.name, text);
    }

    std::string describe(std::string_view text) {
        Bytes bytes;
        for (size_t at = 0; at + 1 < text.size(); at += 2)
            bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(text.substr(at, 2)), nullptr, 16)));
        std::string all;
        for (size_t at = 0; at < bytes.size();) {
            const size_t length = decode(std::span(bytes).subspan(at), text_);
            all += (all.empty() ? "" : "; ") + (length ? text_ : "?");
            at += length ? length : 1;
        }
        return all;
    }

    Extent extent_;
    LLVMDisasmContextRef disassembler_;
    std::string text_; // of the last instruction
    std::set<std::string> seen_;
};

void list_legacy(Generator& generator) {
    struct Map {
        std::string name;
        Bytes escape;
    };
    const std::vector<Map> maps = {{"-", {}}, {"0f", {0x0f}}, {"0f38", {0x0f, 0x38}}, {"0f3a", {0x0f, 0x3a}}};
    // Those that select other instructions or operand sizes, with all kinds of operands; then those that mostly mean
    // nothing.
    const std::vector<Bytes> prefixes = {{0x66}, {0xf2}, {0xf3}};
    const std::vector<Bytes> more = {{0x66, 0x48},
                                     {0xf2, 0x48},
                                     {0xf3, 0x48},
                                     {0x66, 0xf2},
                                     {0x66, 0xf3},
                                     {0x67},
                                     {0xf0},
                                     {0xf0, 0x48},
                                     {0x64},
                                     {0x65},
                                     {0x2e},
                                     {0x36},
                                     {0x3e},
                                     {0x26},
                                     {0x40},
                                     {0x41},
                                     {0x42},
                                     {0x44},
                                     {0x49},
                                     {0x4f},
                                     {0x67, 0x48},
                                     {0x66, 0x41},
                                     {0xf3, 0x0f, 0x1e, 0xfa},
                                     {0xd5, 0x00},
                                     {0xd5, 0x08},
                                     {0xd5, 0x11}};
    for (const Map& map : maps)
        for (int opcode = 0; opcode < 256; ++opcode) {
            if (map.name == "-" && is_no_opcode(opcode))
                continue;
            bool any = false;
            const auto list = [&](const std::vector<Bytes>& sets, const std::vector<OperandKind>& kinds) {
                for (const Bytes& prefix : sets) {
                    Encoding encoding{"legacy", map.name, prefix, static_cast<uint8_t>(opcode)};
                    encoding.before.insert(encoding.before.end(), map.escape.begin(), map.escape.end());
                    any |= generator.list(encoding, kinds);
                }
            };
            const Extent extent = generator.extent();
            list({{}, {0x48}}, extent == Extent::Few ? fewest_kinds : each_kind);
            list(prefixes, extent == Extent::Few ? fewest_kinds : all_kinds);
            if (extent == Extent::Few)
                list({{0x67}, {0xf0}, {0x64}, {0x2e}, {0x41}, {0x49}, {0xd5, 0x00}}, {by_rbx});
            else
                list(more, extent == Extent::All ? few_kinds : noise_kinds);
            if (!any)
                for (const Bytes& prefix :
                     extent == Extent::Few ? std::vector<Bytes>{{}} : std::vector<Bytes>{{}, {0x66}, {0xf2}, {0xf3}}) {
                    Encoding encoding{"legacy", map.name, prefix, static_cast<uint8_t>(opcode)};
                    encoding.before.insert(encoding.before.end(), map.escape.begin(), map.escape.end());
                    generator.list_unknown(encoding);
                }
        }
    // 3DNow!: the opcode comes last.
    for (int suffix = 0; suffix < 256; ++suffix)
        generator.list({"legacy", "0f0f", {0x0f, 0x0f, 0xc3}, static_cast<uint8_t>(suffix)}, {});
}

// VEX and XOP: inverted register bits, then w, the second source (inverted; 15: none), the vector's length and the
// implied prefix.
void list_vex(Generator& generator, std::string_view space, uint8_t first, std::span<const int> maps) {
    for (const int map : maps)
        for (int opcode = 0; opcode < 256; ++opcode) {
            bool any = false;
            const auto encode = [&](int registers, int w, int source, int l, int prefix) {
                return Encoding{space,
                                fmt::format("{}", map),
                                {first, static_cast<uint8_t>(registers << 5 | map),
                                 static_cast<uint8_t>(w << 7 | source << 3 | l << 2 | prefix)},
                                static_cast<uint8_t>(opcode)};
            };
            for (int prefix = 0; prefix < 4; ++prefix)
                for (int l = 0; l < 2; ++l)
                    for (int w = 0; w < 2; ++w) {
                        const bool is_few = generator.extent() == Extent::Few;
                        const auto& kinds = is_few ? fewest_kinds : all_kinds;
                        const bool listed = generator.list(encode(7, w, 15, l, prefix), kinds) ||
                                            generator.list(encode(7, w, 13, l, prefix), kinds);
                        if (listed && !is_few) // with the bit that makes the operand's register one of r8 to r15
                            generator.list(encode(6, w, 13, l, prefix), fewest_kinds);
                        any |= listed;
                    }
            for (int prefix = 0; prefix < (generator.extent() == Extent::Few ? 1 : 4) && !any; ++prefix)
                generator.list_unknown(encode(7, 0, 13, 0, prefix));
            // Which register the kernel takes for the rewritten operand depends on the second source, where that is a
            // general one.
            for (int prefix = 0; prefix < 4 && map != 1 && opcode >= 0xf0; ++prefix)
                for (int source = 0; source < 16; source += generator.extent() == Extent::Few ? 5 : 1)
                    generator.list(encode(7, 1, source, 0, prefix), {after_code_each});
        }
}

void list_short_vex(Generator& generator) {
    for (int opcode = 0; opcode < 256; ++opcode)
        for (int prefix = 0; prefix < 4; ++prefix)
            for (int l = 0; l < 2; ++l)
                for (const int source : {15, 13}) {
                    const Encoding encoding{"vex2",
                                            "1",
                                            {0xc5, static_cast<uint8_t>(0x80 | source << 3 | l << 2 | prefix)},
                                            static_cast<uint8_t>(opcode)};
                    if (generator.list(encoding, few_kinds))
                        break;
                }
}

void list_evex(Generator& generator) {
    for (const int map : {1, 2, 3, 4, 5, 6, 7})
        for (int opcode = 0; opcode < 256; ++opcode) {
            bool any = false;
            const auto encode = [&](int registers, int w, int source, int prefix, int last) {
                return Encoding{"evex",
                                fmt::format("{}", map),
                                {0x62, static_cast<uint8_t>(registers << 4 | map),
                                 static_cast<uint8_t>(w << 7 | source << 3 | 4 | prefix), static_cast<uint8_t>(last)},
                                static_cast<uint8_t>(opcode)};
            };
            // The last byte: zeroing, vector length, broadcast, the second source's fifth bit (inverted), mask.
            for (int prefix = 0; prefix < 4; ++prefix)
                for (int w = 0; w < 2; ++w)
                    for (int length = 0; length < 3; ++length)
                        for (const int masks : {0x08, 0x09, 0x89, 0x18, 0x19}) {
                            const int last = length << 5 | masks;
                            const bool is_plain = masks == 0x08;
                            const Extent extent = generator.extent();
                            if (extent != Extent::All && (length == 1 || extent == Extent::Few) && !is_plain)
                                continue;
                            const bool is_whole = extent == Extent::All || (extent == Extent::Usual && length == 0);
                            const std::vector<OperandKind>& kinds = is_plain && is_whole ? all_kinds : fewest_kinds;
                            any |= generator.list(encode(15, w, 15, prefix, last), kinds) ||
                                   generator.list(encode(15, w, 13, prefix, last), kinds);
                        }
            for (int prefix = 0; prefix < (generator.extent() == Extent::Few ? 1 : 4) && !any; ++prefix)
                generator.list_unknown(encode(15, 0, 13, prefix, 0x08));
        }
}

// Instructions that change nothing, or nearly: kernels emulate what they take for a nop, and `mov %eax, %eax` clears
// half of a register.
void list_near_nops(Generator& generator) {
    for (const std::string prefix : {"", "40", "41", "44", "45", "48", "49", "4c", "4d", "66", "6641", "6644", "6645",
                                     "67", "6748", "f2", "f3", "f348"})
        for (int number = 0; number < 8; ++number) {
            const int same = 0xc0 | number << 3 | number, at = number << 3 | number;
            const std::string index = number == 4 ? "24" : "";
            for (const int opcode : {0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b})
                generator.list_special("the same register", fmt::format("{}{:02x}{:02x}", prefix, opcode, same));
            if (number != 5)
                generator.list_special("lea of nothing", fmt::format("{}8d{:02x}{}", prefix, at, index));
            generator.list_special("lea of nothing", fmt::format("{}8d{:02x}{}00", prefix, 0x40 | at, index));
            generator.list_special("lea of nothing", fmt::format("{}8d{:02x}{}00000000", prefix, 0x80 | at, index));
            generator.list_special("xchg with rax", fmt::format("{}{:02x}", prefix, 0x90 + number));
        }
    for (const char* jump :
         {"eb00", "e900000000", "7400", "0f8400000000", "3eeb00", "f2eb00", "f3eb00", "48eb00", "66eb00", "40eb00"})
        generator.list_special("a jump to the next instruction", jump);
}

// Cases that need more than one instruction, certain values or a certain place.
void list_specials(Generator& generator) {
    const std::vector<std::string> nops = {"90",
                                           "6690",
                                           "0f1f00",
                                           "0f1f4000",
                                           "0f1f440000",
                                           "660f1f440000",
                                           "0f1f8000000000",
                                           "0f1f840000000000",
                                           "660f1f840000000000",
                                           "662e0f1f840000000000",
                                           "66662e0f1f840000000000",
                                           "6666662e0f1f840000000000",
                                           "666666662e0f1f840000000000",
                                           "66666666662e0f1f840000000000",
                                           "6666666666662e0f1f840000000000"};
    for (const std::string& nop : nops) {
        generator.list_special(fmt::format("nop{}", nop.size() / 2), nop);
        // In a leaf function: data below the stack pointer is read afterwards.
        generator.list_special(fmt::format("nop{}, then the red zone is read", nop.size() / 2), nop + "488b4424f8");
        generator.list_special(fmt::format("nop{} across a page", nop.size() / 2), nop, "x");
    }
    generator.list_special("nop of a pair", "900f1f440000");
    generator.list_special("nop of a pair, then the red zone is read", "900f1f440000488b4424f8");
    generator.list_special("nop5 with an operand in memory", "0f1f4424f8");
    generator.list_special("nop5 by prefixes", "6666666690");
    generator.list_special("nop5 by prefixes, then the red zone is read", "6666666690488b4424f8");
    for (const char* instruction :
         {"cd80",     "cd03",     "cd04",         "8ed2",         "8ec2",   "8eda",     "8ee2",   "8eea",
          "c8100002", "c8000001", "9c58",         "669c6658",     "9c9d",   "489d90",   "9d90",   "0f05",
          "480f05",   "0f34",     "0fa2",         "0f01f9",       "0f31",   "f30fc7f8", "0fc7f0", "0fc7f8",
          "f3a4f3a5", "c6f813",   "c7f800000000", "c7f813000000", "0f01d5", "0f01d6"})
        generator.list_special("as it is", instruction);
    for (const char* instruction :
         {"55", "4889e5", "e813000000", "eb13", "7413", "f3a4", "c3", "ff23", "e8e0ffffff", "488b4424f8",
          "0f8413000000", "c5f9eb03", "62f17d48eb03", "f0480fb10b", "f0480fc70b", "0f05", "9c", "6650"})
        generator.list_special("across a page", instruction, "x");
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view word = count > 1 ? arguments[1] : "";
    Generator generator(word == "--few" ? Extent::Few : word == "--all" ? Extent::All : Extent::Usual);
    list_specials(generator);
    list_near_nops(generator);
    list_legacy(generator);
    list_vex(generator, "vex", 0xc4, std::array{1, 2, 3, 5, 6, 7});
    list_short_vex(generator);
    list_vex(generator, "xop", 0x8f, std::array{8, 9, 10});
    list_evex(generator);
    return 0;
}
