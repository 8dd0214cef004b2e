// Simulates a function's first block. The state is deliberately simple: for each register and each byte of the frame,
// whether it holds a value that the caller has passed. Instructions that are not understood clear what they may change.
// So the simulation can lose a fact, but should never invent one.
//
// An example, with the state after each instruction:
//
//     push %rbp              rsp = -16; the frame is relative to the CFA
//     mov  %rsp, %rbp        rbp = -16
//     mov  %edi, -20(%rbp)   bytes -36 to -33 of the frame are filled: edi still holds the first argument
//     mov  $0, %edi          edi no longer holds an argument
//
// The debug information of unoptimized code says that a parameter is at -36 of the frame in the whole function. Up to
// the third instruction this is not true, and a handler there would read garbage. The filled bytes tell from which
// instruction on the parameter can be read.
#include "frontend/dwarf/prologue.h"

#include <algorithm>
#include <iterator>

#include "arch/x86_64/decode.h"

namespace sonde {
namespace {

constexpr size_t most_instructions = 128;
constexpr int rsp_number = 7; // DWARF number
constexpr int vectors = 16;   // vector registers that instructions without a VEX prefix can name

// Converts a register number in the encoding to its DWARF number.
int dwarf_register(int number) {
    constexpr int names[] = {0, 2, 1, 3, 7, 6, 4, 5};
    return number < 8 ? names[number] : number;
}

// An instruction with the prefixes that decode_x86() does not return.
struct Instruction {
    X86Instruction code;
    bool operand16 = false;
    bool repeat = false, repeat_not = false; // 0xf3, 0xf2: they select the vector instruction
    uint8_t rex = 0;
    bool has_index = false;

    bool is_memory() const { return code.has_modrm && code.modrm >> 6 != 3; }
    int reg() const { return (code.modrm >> 3 & 7) | (rex & 4) << 1; }
    int rm() const { return (code.modrm & 7) | (rex & 1) << 3; }
    bool is_wide() const { return rex & 8; }
};

std::optional<Instruction> decode(std::string_view bytes) {
    std::optional<X86Instruction> code = decode_x86(bytes);
    if (!code)
        return std::nullopt;
    Instruction out{.code = *code};
    size_t at = 0;
    for (; at < code->length; at++) {
        auto byte = static_cast<uint8_t>(bytes[at]);
        constexpr uint8_t others[] = {0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x67, 0xf0};
        if (byte == 0x66)
            out.operand16 = true;
        else if (byte == 0xf3)
            out.repeat = true;
        else if (byte == 0xf2)
            out.repeat_not = true;
        else if (std::find(std::begin(others), std::end(others), byte) == std::end(others))
            break;
    }
    if (!code->is_vector && (static_cast<uint8_t>(bytes[at]) & 0xf0) == 0x40)
        out.rex = static_cast<uint8_t>(bytes[at++]);
    if (out.is_memory() && (code->modrm & 7) == 4) {
        // The opcode has one byte, or two or three bytes after 0x0f. ModRM and SIB follow it.
        size_t sib = at + (code->map == 0 ? 1 : code->map == 1 ? 2 : 3) + 1;
        auto byte = static_cast<uint8_t>(sib < bytes.size() ? bytes[sib] : 0);
        out.has_index = ((byte >> 3 & 7) | (out.rex & 2) << 2) != 4;
    }
    return out;
}

struct Store {
    uint64_t size;
    bool from_vector;
    bool is_constant = false; // the value is a constant, not a register
};

// Whether the register field of ModRM is part of the opcode.
bool names_operation(const X86Instruction& code) {
    const uint8_t op = code.opcode;
    if (code.map == 0)
        return (op >= 0x80 && op <= 0x83) || op == 0x8f || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
               (op >= 0xd0 && op <= 0xd3) || op == 0xf6 || op == 0xf7 || op >= 0xfe;
    return code.map == 1 && (op <= 0x01 || op == 0x0d || (op >= 0x18 && op <= 0x1f) || (op >= 0x71 && op <= 0x73) ||
                             (op >= 0x90 && op <= 0x9f) || op == 0xae || op == 0xba || op == 0xc7);
}

// Whether an opcode after 0x0f names vector registers.
bool is_vector_code(uint8_t op) {
    return (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) || (op >= 0x50 && op <= 0x7f) || op == 0xc2 ||
           (op >= 0xc4 && op <= 0xc6) || op >= 0xd0;
}

// If the instruction moves a register (see reg()) to memory, returns the details.
std::optional<Store> store_of(const Instruction& one) {
    if (!one.is_memory() || one.code.is_vector)
        return std::nullopt;
    uint64_t word = one.is_wide() ? 8 : one.operand16 ? 2 : 4;
    if (one.code.map == 0 && one.code.opcode == 0x88)
        return Store{1, false};
    if (one.code.map == 0 && one.code.opcode == 0x89)
        return Store{word, false};
    if (one.code.map != 1)
        return std::nullopt;
    switch (one.code.opcode) {
    case 0x11: // movss, movsd, movups, movupd
        return Store{one.repeat ? 4u : one.repeat_not ? 8u : 16u, true};
    case 0x29: // movaps, movapd
        return Store{16, true};
    case 0x7f: // movdqa, movdqu
        return one.operand16 || one.repeat ? std::optional(Store{16, true}) : std::nullopt;
    case 0x7e: // movd, movq
        return one.operand16 && !one.repeat ? std::optional(Store{one.is_wide() ? 8u : 4u, true}) : std::nullopt;
    case 0xd6: // movq
        return one.operand16 ? std::optional(Store{8, true}) : std::nullopt;
    case 0x13: // movlps, movlpd
        return Store{8, true};
    default:
        return std::nullopt;
    }
}

// If the instruction moves a general purpose register to another, possibly with an extension, returns both: from, to.
std::optional<std::pair<int, int>> move_of(const Instruction& one) {
    if (one.is_memory() || !one.code.has_modrm || one.code.is_vector)
        return std::nullopt;
    const uint8_t opcode = one.code.opcode;
    if (one.code.map == 0 && opcode == 0x89)
        return std::pair(one.reg(), one.rm());
    if (one.code.map == 0 && (opcode == 0x8b || opcode == 0x63))
        return std::pair(one.rm(), one.reg());
    if (one.code.map == 1 && (opcode == 0xb6 || opcode == 0xb7 || opcode == 0xbe || opcode == 0xbf))
        return std::pair(one.rm(), one.reg());
    return std::nullopt;
}

bool compares(const X86Instruction& code) {
    if (code.map != 0)
        return code.map == 1 && (code.opcode == 0x1e || code.opcode == 0x1f || code.opcode == 0x2e ||
                                 code.opcode == 0x2f || code.opcode == 0x18 || code.opcode == 0x0d); // nop, comiss
    return (code.opcode >= 0x38 && code.opcode <= 0x3d) || code.opcode == 0x84 || code.opcode == 0x85 ||
           code.opcode == 0x90 ||
           ((code.opcode == 0x80 || code.opcode == 0x81 || code.opcode == 0x83) && code.extension() == 7);
}

// Simulates instructions. It only knows which registers and stack bytes still have values that the caller has passed,
// and where rsp and rbp point to; it does not know the values.
class Follower {
  public:
    explicit Follower(Address entry) {
        constexpr int arguments[] = {1, 2, 4, 5, 8, 9}; // rdx rcx rsi rdi r8 r9
        constexpr int vector_arguments = 8;
        for (int reg : arguments)
            state_.passed[reg] = true;
        std::fill_n(std::begin(vectors_), vector_arguments, true);
        state_.address = entry;
        state_.rsp = -8; // the return address is there
    }
    const PrologueState& state() const { return state_; }

    // Executes an instruction. Returns false if the state after it is unknown.
    bool step(const Instruction& one) {
        state_.address += one.code.length;
        const uint8_t opcode = one.code.opcode;
        const bool plain = one.code.map == 0 && !one.code.is_vector;
        if (one.code.is_direct_jump() || one.code.is_indirect_jump() || one.code.is_call() || one.code.is_return())
            return false;
        // Comparisons change flags only.
        if (!one.code.is_vector && compares(one.code))
            return true;
        if (plain && opcode >> 3 == 0x50 >> 3) {
            push((opcode & 7) | (one.rex & 1) << 3);
        } else if (plain && opcode >> 3 == 0x58 >> 3) {
            pop((opcode & 7) | (one.rex & 1) << 3);
        } else if (plain && (opcode == 0x68 || opcode == 0x6a)) {
            push(-1);
        } else if (std::optional<Store> store = store_of(one)) {
            put(one, *store);
        } else if (std::optional<std::pair<int, int>> move = move_of(one)) {
            copy(dwarf_register(move->first), dwarf_register(move->second), one.code.map == 0 && one.is_wide());
        } else if (plain && (opcode == 0x83 || opcode == 0x81) && !one.is_memory() && one.rm() == 4) {
            move_stack(one);
        } else if (plain && opcode == 0x8d && one.reg() == 4 && one.code.base == 4 && !one.has_index) {
            if (state_.rsp)
                *state_.rsp += one.code.displacement;
        } else {
            forget(one);
        }
        return true;
    }

  private:
    // Marks bytes of the frame as written, with a value that the caller has passed or with another one.
    void fill(std::optional<int64_t> from, uint64_t size, bool with_passed) {
        if (!from)
            return;
        int64_t to = *from + static_cast<int64_t>(size);
        // The previous contents of these bytes are overwritten.
        std::map<int64_t, int64_t> rest;
        for (auto [low, high] : state_.filled) {
            if (low < *from)
                rest[low] = std::min(high, *from);
            if (high > to)
                rest[std::max(low, to)] = high;
        }
        if (with_passed)
            rest[*from] = to;
        state_.filled = std::move(rest);
    }

    void push(int number) {
        if (!state_.rsp)
            return;
        *state_.rsp -= 8;
        fill(state_.rsp, 8, number >= 0 && state_.passed[dwarf_register(number)]);
    }

    void pop(int number) {
        if (state_.rsp)
            *state_.rsp += 8;
        set(dwarf_register(number), false);
    }

    void put(const Instruction& one, Store store) {
        if (one.has_index || (one.code.base != 4 && one.code.base != 5))
            return; // compilers use these two registers to access their own frame
        std::optional<int64_t> base = one.code.base == 4 ? state_.rsp : state_.rbp;
        if (base)
            fill(*base + one.code.displacement, store.size,
                 !store.is_constant &&
                     (store.from_vector ? vectors_[one.reg()] : state_.passed[dwarf_register(one.reg())]));
    }

    // Copies a register. `whole`: all 64 bits, so that a copied stack pointer still points to the frame.
    void copy(int from, int to, bool whole) {
        constexpr int rbp = 6;
        std::optional<int64_t> place = from == rsp_number ? state_.rsp : from == rbp ? state_.rbp : std::nullopt;
        set(to, state_.passed[from]);
        if (to == rbp && whole)
            state_.rbp = place;
        if (to == rsp_number && whole)
            state_.rsp = place;
    }

    void move_stack(const Instruction& one) {
        const int what = one.code.extension();
        if (what == 0 && state_.rsp)
            *state_.rsp += one.code.immediate;
        else if (what == 5 && state_.rsp)
            *state_.rsp -= one.code.immediate;
        else
            state_.rsp = std::nullopt;
    }

    void set(int reg, bool passed) {
        constexpr int rbp = 6;
        state_.passed[reg] = passed;
        if (reg == rbp)
            state_.rbp = std::nullopt;
        if (reg == rsp_number)
            state_.rsp = std::nullopt;
    }

    // Handles any other instruction: assumes that it changes all registers that it names, and those that it changes
    // implicitly.
    void forget(const Instruction& one) {
        if (!one.code.has_modrm || one.code.is_vector) {
            // `mov $imm, %reg` changes only this register.
            const bool constant = one.code.map == 0 && !one.code.is_vector && one.code.opcode >> 3 == 0xb8 >> 3;
            if (constant)
                return set(dwarf_register((one.code.opcode & 7) | (one.rex & 1) << 3), false);
            std::fill(std::begin(state_.passed), std::end(state_.passed), false);
            std::fill(std::begin(vectors_), std::end(vectors_), false);
            return;
        }
        constexpr int rax = 0, rdx = 1;
        // mul, imul, div and idiv write to rax and rdx without naming them.
        const bool multiplies = one.code.map == 0 && (one.code.opcode == 0xf6 || one.code.opcode == 0xf7);
        if (multiplies) {
            set(rax, false);
            set(rdx, false);
        }
        if (!names_operation(one.code))
            change(one.code, one.reg());
        if (!one.is_memory())
            change(one.code, one.rm());
        else if (one.code.map == 0 && (one.code.opcode == 0xc6 || one.code.opcode == 0xc7)) // a constant
            put(one, {.size = 8, .from_vector = false, .is_constant = true});
    }

    // Vector instructions name vector registers. A few also name general purpose registers, but compilers never use
    // these for the stack.
    void change(const X86Instruction& code, int number) {
        if (code.map == 0 || (code.map == 1 && !is_vector_code(code.opcode)))
            return set(dwarf_register(number), false);
        vectors_[number] = false;
        state_.passed[dwarf_register(number)] = false;
    }

    PrologueState state_;
    bool vectors_[vectors] = {}; // see PrologueState::passed
};

} // namespace

bool PrologueState::is_filled(int64_t from, int64_t to) const {
    for (auto [low, high] : filled)
        if (low <= from && from < high)
            from = high;
    return from >= to;
}

std::vector<PrologueState> follow_prologue(std::string_view code, Address entry) {
    Follower follower(entry);
    std::vector<PrologueState> states = {follower.state()};
    while (states.size() < most_instructions) {
        const size_t at = states.back().address - entry;
        std::optional<Instruction> one = at < code.size() ? decode(code.substr(at)) : std::nullopt;
        if (!one || !follower.step(*one))
            break;
        states.push_back(follower.state());
    }
    return states;
}

bool writes_first(std::string_view code, int reg, int64_t from, int64_t to) {
    for (size_t i = 0; i < most_instructions; i++) {
        const std::optional<Instruction> one = decode(code);
        if (!one || one->code.is_direct_jump() || one->code.is_indirect_jump() || one->code.is_call() ||
            one->code.is_return())
            return false;
        const bool plain = one->code.map == 0 && !one->code.is_vector;
        const uint8_t opcode = one->code.opcode;
        const bool moves_stack = plain && (opcode >> 4 == 5 || // push, pop
                                           ((opcode == 0x81 || opcode == 0x83) && !one->is_memory() && one->rm() == 4));
        if (moves_stack)
            return false;
        const bool is_address = plain && opcode == 0x8d; // lea
        if (one->is_memory() && !is_address && one->code.base >= 0 && !one->has_index &&
            dwarf_register(one->code.base) == reg) {
            std::optional<Store> store = store_of(*one);
            if (plain && (opcode == 0xc6 || opcode == 0xc7)) // a constant
                store = Store{opcode == 0xc6 ? 1u : one->is_wide() ? 8u : one->operand16 ? 2u : 4u, false, true};
            constexpr int64_t most_bytes = 16;
            const int64_t at = one->code.displacement;
            if (at < to && at + (store ? static_cast<int64_t>(store->size) : most_bytes) > from)
                return store.has_value();
        }
        code.remove_prefix(std::min(one->code.length, code.size()));
    }
    return false;
}

} // namespace sonde
