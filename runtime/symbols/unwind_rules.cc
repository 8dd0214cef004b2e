// Two encodings for one thing need an explanation. A rule word covers nearly all rows: a handler adds a constant to sp
// or fp and reads two words. A program of steps covers the rest, at the cost of one iteration of a loop for each step.
// RuleCompiler::compile() tries the rule word first.
//
// Example of a row that needs a program: the PLT entries of .eh_frame, whose CFA is `sp + 8 + ((pc & 15) >= 11) * 8`.
// Its steps:
//
//     REGISTER sp+8; REGISTER pc; NUMBER 15; AND; NUMBER 11; GREATER_OR_EQUAL; NUMBER 3; SHIFT_LEFT; PLUS
//     SET_CFA; CFA-8; READ 8; SET pc; REST; END
//
// The order of a program matters. It sets the CFA first, since all other places refer to the CFA. It then sets pc, sp
// and fp. REST separates the other registers: a handler that needs only the next frame stops there, and a failing read
// after REST does not lose the caller.
//
// All limits must match the interpreter in codegen/rtlib: SONDE_STEPS_MOST for the length of a program, and the bits of
// SONDE_STEP for its numbers.
#include "runtime/symbols/unwind_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "arch/architecture.h"
#include "base/byte_cursor.h"
#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

using Steps = std::vector<uint64_t>;

constexpr uint64_t step(sonde_step_kind kind, int64_t number = 0, uint64_t reg = 0) {
    return SONDE_STEP(kind, reg, static_cast<uint64_t>(number));
}

// The facts about an architecture that compiling a rule needs.
class Processor {
  public:
    explicit Processor(const Architecture& architecture)
        : word(architecture.word_size()), traits(architecture.unwind_traits()),
          fp(static_cast<uint64_t>(architecture.registers().frame_pointer)),
          sp(static_cast<uint64_t>(architecture.registers().stack_pointer)),
          pc(static_cast<uint64_t>(architecture.registers().instruction_pointer)), architecture_(architecture) {}

    // Converts a DWARF number to that of Architecture::registers().
    uint64_t number(uint64_t dwarf_number) const {
        const uint64_t out = architecture_.register_of(dwarf_number);
        return out < traits.registers ? out : RuleCompiler::no_register;
    }
    // Converts a register number to an index into struct pt_regs (enum sonde_register).
    uint64_t index(uint64_t number) const { return architecture_.registers().offset(static_cast<int>(number)) / 8; }

    const int word;
    const UnwindTraits& traits;
    const uint64_t fp, sp, pc;

  private:
    const Architecture& architecture_;
};

// A step has 48 bits for a signed number.
bool fits_a_step(int64_t number) { return number >= -(int64_t{1} << 47) && number < int64_t{1} << 47; }

// True for a positive number of whole words, at most `most` of them.
bool fits(int64_t bytes, int64_t most, const Processor& cpu) {
    return bytes > 0 && bytes % cpu.word == 0 && bytes / cpu.word <= most;
}

// Negates without undefined behavior for the smallest number.
int64_t negative(int64_t value) { return static_cast<int64_t>(0 - static_cast<uint64_t>(value)); }

// Compiles a DWARF location expression. Operations are translated one by one; jumps are patched at the end, when the
// step of each target is known.
class ExpressionCompiler {
  public:
    ExpressionCompiler(std::string_view code, const Processor& cpu) : in_(code), cpu_(cpu) {}

    std::optional<Steps> compile() {
        while (good_ && !in_.empty()) {
            places_[in_.position()] = out_.size();
            operation(in_.take<uint8_t>());
        }
        places_[in_.position()] = out_.size();
        if (!good_ || in_.failed() || out_.size() > SONDE_STEPS_MOST / 2)
            return std::nullopt;
        // DWARF counts the distance of a jump in bytes from the next operation, a step counts steps. A target in the
        // middle of an operation is an error.
        for (const Jump& jump : jumps_) {
            auto target = places_.find(jump.target);
            if (target == places_.end())
                return std::nullopt;
            const auto distance = static_cast<int64_t>(target->second) - static_cast<int64_t>(jump.from + 1);
            out_[jump.from] = step(jump.kind, distance);
        }
        return std::move(out_);
    }

  private:
    struct Jump {
        size_t from;   // step
        size_t target; // byte of the code
        sonde_step_kind kind;
    };

    void add(sonde_step_kind kind, int64_t number = 0, uint64_t reg = 0) {
        good_ = good_ && fits_a_step(number);
        out_.push_back(step(kind, number, reg));
    }
    void add_register(uint64_t number, int64_t offset) {
        number = cpu_.number(number);
        good_ = good_ && number != RuleCompiler::no_register;
        if (good_)
            add(SONDE_STEP_REGISTER, offset, cpu_.index(number));
    }
    // The target of a forward jump is not compiled yet, so store the jump and patch it in compile().
    void jump(sonde_step_kind kind) {
        const auto distance = in_.take<int16_t>();
        jumps_.push_back({out_.size(), in_.position() + static_cast<size_t>(int64_t{distance}), kind});
        add(kind);
    }
    // Handlers can read 1, 2, 4 or 8 bytes, at most one word.
    void read(uint8_t size) {
        good_ = good_ && (size == 1 || size == 2 || size == 4 || size == 8) && size <= cpu_.word;
        add(SONDE_STEP_READ, size);
    }

    void operation(uint8_t op) {
        if (op >= 0x30 && op <= 0x4f) // DW_OP_lit0 to 31
            return add(SONDE_STEP_NUMBER, op - 0x30);
        if (op >= 0x70 && op <= 0x8f) // DW_OP_breg0 to 31
            return add_register(op - 0x70u, in_.sleb());
        if (std::optional<sonde_step_kind> simple = simple_operation(op))
            return add(*simple);
        with_operands(op);
    }

    // Operations without operands that have a step of the same meaning (DWARF 5, section 7.7.1).
    static std::optional<sonde_step_kind> simple_operation(uint8_t op) {
        static constexpr std::pair<uint8_t, sonde_step_kind> known[] = {
            {0x13, SONDE_STEP_DROP},
            {0x16, SONDE_STEP_SWAP},
            {0x17, SONDE_STEP_ROTATE},
            {0x19, SONDE_STEP_ABSOLUTE},
            {0x1a, SONDE_STEP_AND},
            {0x1c, SONDE_STEP_MINUS},
            {0x1e, SONDE_STEP_TIMES},
            {0x1f, SONDE_STEP_NEGATE},
            {0x20, SONDE_STEP_NOT},
            {0x21, SONDE_STEP_OR},
            {0x22, SONDE_STEP_PLUS},
            {0x24, SONDE_STEP_SHIFT_LEFT},
            {0x25, SONDE_STEP_SHIFT_RIGHT},
            {0x26, SONDE_STEP_SHIFT_SIGNED},
            {0x27, SONDE_STEP_XOR},
            {0x29, SONDE_STEP_EQUAL},
            {0x2a, SONDE_STEP_GREATER_OR_EQUAL},
            {0x2b, SONDE_STEP_GREATER},
            {0x2c, SONDE_STEP_LESS_OR_EQUAL},
            {0x2d, SONDE_STEP_LESS},
            {0x2e, SONDE_STEP_UNEQUAL},
            {0x9c, SONDE_STEP_CFA},
        };
        for (auto [number, kind] : known)
            if (number == op)
                return kind;
        return std::nullopt;
    }

    void with_operands(uint8_t op) {
        uint64_t number = 0;
        switch (op) {
        case 0x06: // DW_OP_deref
            return read(static_cast<uint8_t>(cpu_.word));
        case 0x08: // DW_OP_const1u to const8s
            return add(SONDE_STEP_NUMBER, in_.take<uint8_t>());
        case 0x09:
            return add(SONDE_STEP_NUMBER, in_.take<int8_t>());
        case 0x0a:
            return add(SONDE_STEP_NUMBER, in_.take<uint16_t>());
        case 0x0b:
            return add(SONDE_STEP_NUMBER, in_.take<int16_t>());
        case 0x0c:
            return add(SONDE_STEP_NUMBER, in_.take<uint32_t>());
        case 0x0d:
            return add(SONDE_STEP_NUMBER, in_.take<int32_t>());
        case 0x0e:
        case 0x0f:
            return add(SONDE_STEP_NUMBER, in_.take<int64_t>());
        case 0x10: // DW_OP_constu
            return add(SONDE_STEP_NUMBER, static_cast<int64_t>(in_.uleb()));
        case 0x11: // DW_OP_consts
            return add(SONDE_STEP_NUMBER, in_.sleb());
        case 0x12: // DW_OP_dup
            return add(SONDE_STEP_PICK, 0);
        case 0x14: // DW_OP_over
            return add(SONDE_STEP_PICK, 1);
        case 0x15: // DW_OP_pick
            return add(SONDE_STEP_PICK, in_.take<uint8_t>());
        case 0x23: // DW_OP_plus_uconst
            return add(SONDE_STEP_ADD, static_cast<int64_t>(in_.uleb()));
        case 0x28: // DW_OP_bra
            return jump(SONDE_STEP_BRANCH);
        case 0x2f: // DW_OP_skip
            return jump(SONDE_STEP_JUMP);
        case 0x92: // DW_OP_bregx
            number = in_.uleb();
            return add_register(number, in_.sleb());
        case 0x94: // DW_OP_deref_size
            return read(in_.take<uint8_t>());
        case 0x96: // DW_OP_nop
            return;
        default:
            good_ = false;
        }
    }

    ByteCursor in_;
    const Processor& cpu_;
    Steps out_;
    std::map<size_t, size_t> places_; // byte of the code -> step
    std::vector<Jump> jumps_;
    bool good_ = true;
};

// Appends the steps that set one register of the caller. Returns false if steps cannot express the place.
bool add_place(Steps& out, uint64_t number, const CfiPlace& place, const Processor& cpu) {
    const uint64_t to = cpu.index(number);
    if (place.kind == CfiPlace::Same)
        return true;
    if (place.kind == CfiPlace::Undefined) {
        out.push_back(step(SONDE_STEP_FORGET, 0, to));
        return true;
    }
    bool is_address = place.kind == CfiPlace::AtCfa || place.kind == CfiPlace::Expression;
    if (place.kind == CfiPlace::AtCfa || place.kind == CfiPlace::CfaItself) {
        if (!fits_a_step(place.offset))
            return false;
        out.push_back(step(SONDE_STEP_CFA, place.offset));
    } else if (place.kind == CfiPlace::Register) {
        const uint64_t from = cpu.number(static_cast<uint64_t>(place.offset));
        if (from == RuleCompiler::no_register)
            return false;
        out.push_back(step(SONDE_STEP_REGISTER, 0, cpu.index(from)));
    } else {
        std::optional<Steps> code = ExpressionCompiler(place.expression, cpu).compile();
        if (!code)
            return false;
        // DWARF starts these expressions with the CFA on the stack (DWARF 5, section 6.4.2.3).
        out.push_back(step(SONDE_STEP_CFA));
        out.insert(out.end(), code->begin(), code->end());
    }
    if (is_address)
        out.push_back(step(SONDE_STEP_READ, cpu.word));
    out.push_back(step(SONDE_STEP_SET, 0, to));
    return true;
}

// A workaround for gcc. Some functions realign their stack, for example main() with a variable for AVX. Their call
// frame information says "the caller's fp is saved at the address in fp" from the push of fp up to the return. That is
// wrong before fp is set and after the final pop of fp: there, fp has the caller's value. In both places the
// CFA is in another register, typically r10.
//
// Such a function pushes a copy of its return address just before it pushes fp. So if fp is the function's own frame
// pointer, the word above fp equals the return address at CFA - 8. The steps compare the two words. If they are equal,
// they read the caller's fp from the stack; otherwise they keep fp.
bool is_realigned(const CfiState& state, const Processor& cpu) {
    const CfiPlace& frame = state.places[cpu.fp];
    return !cpu.traits.has_link_register && !state.cfa_is_expression && state.cfa_register != cpu.fp &&
           frame.kind == CfiPlace::Expression && frame.expression == cpu.traits.frame_expression;
}
void add_realigned(Steps& out, const Processor& cpu) {
    const uint64_t fp = cpu.index(cpu.fp);
    const uint64_t program[] = {
        step(SONDE_STEP_REGISTER, cpu.word, fp), step(SONDE_STEP_READ, cpu.word), step(SONDE_STEP_CFA, -cpu.word),
        step(SONDE_STEP_READ, cpu.word),         step(SONDE_STEP_EQUAL),          step(SONDE_STEP_BRANCH, 2),
        step(SONDE_STEP_REGISTER, 0, fp),        step(SONDE_STEP_JUMP, 2),        step(SONDE_STEP_REGISTER, 0, fp),
        step(SONDE_STEP_READ, cpu.word),         step(SONDE_STEP_SET, 0, fp),
    };
    out.insert(out.end(), std::begin(program), std::end(program));
}

// A workaround for glibc on processors with a link register. Before its lazy binder (_dl_runtime_resolve) runs, the
// linkage table pushes two words: its own, and the return address. The binder's call frame information ignores this
// push. So the return address is above the CFA, and after the pop the CFA is below the stack pointer. This function
// includes the pushed words in the frame.
CfiState with_pushed_words(CfiState state, const Processor& cpu) {
    const CfiPlace& back = state.places[cpu.traits.return_address];
    if (!cpu.traits.has_link_register || state.cfa_is_expression || state.cfa_register != cpu.sp)
        return state;
    if (back.kind == CfiPlace::Same)
        state.cfa_offset = std::max<int64_t>(state.cfa_offset, 0);
    if (back.kind != CfiPlace::AtCfa || back.offset < 0)
        return state;
    const int64_t pushed = back.offset + cpu.word;
    state.cfa_offset += pushed;
    for (CfiPlace& place : state.places)
        if (place.kind == CfiPlace::AtCfa || place.kind == CfiPlace::CfaItself)
            place.offset -= pushed;
    return state;
}

// Packs the places of callee-saved registers into a saves word. Returns nothing if a place does not fit, so that a
// program is needed.
std::optional<uint32_t> saves_of(const CfiState& state, const Processor& cpu) {
    uint32_t out = 0;
    unsigned shift = 0;
    for (uint64_t number : cpu.traits.saved) {
        const CfiPlace& place = state.places[number];
        uint32_t words = SONDE_SAVED_SAME;
        if (place.kind == CfiPlace::AtCfa && fits(negative(place.offset), SONDE_SAVED_UNKNOWN - 1, cpu))
            words = static_cast<uint32_t>(negative(place.offset) / cpu.word);
        else if (place.kind == CfiPlace::Undefined)
            words = SONDE_SAVED_UNKNOWN;
        else if (place.kind != CfiPlace::Same)
            return std::nullopt;
        out |= words << shift;
        shift += 6;
    }
    for (uint64_t number : cpu.traits.saved_beyond)
        if (state.places[number].kind != CfiPlace::Same)
            out |= SONDE_SAVED_BEYOND;
    return out;
}

// Packs a row into a rule word. Returns nothing if the row needs a program.
std::optional<uint32_t> simple_rule(const CfiState& state, const Processor& cpu) {
    const CfiPlace &back = state.places[cpu.traits.return_address], &frame = state.places[cpu.fp];
    const bool has_link = cpu.traits.has_link_register, is_in_link = has_link && back.kind == CfiPlace::Same;
    const bool is_from_sp = state.cfa_register == cpu.sp;
    if (state.cfa_is_expression || state.places[cpu.sp].kind != CfiPlace::Same ||
        (!is_from_sp && state.cfa_register != cpu.fp))
        return std::nullopt;
    // The CFA of a function that has not moved the stack pointer is the stack pointer itself if calls do not move it.
    if (!fits(state.cfa_offset, SONDE_RULE_CFA_MOST, cpu) && !(is_in_link && state.cfa_offset == 0))
        return std::nullopt;
    const int64_t cfa = state.cfa_offset / cpu.word;
    if (is_in_link)
        return is_from_sp && frame.kind == CfiPlace::Same ? std::optional(SONDE_RULE(SONDE_RULE_LINK, cfa, 0))
                                                          : std::nullopt;
    int64_t saved = 0;
    if (frame.kind == CfiPlace::AtCfa) {
        saved = negative(frame.offset);
        if (!fits(saved, SONDE_RULE_FP_MOST, cpu))
            return std::nullopt;
    } else if (frame.kind != CfiPlace::Same) {
        return std::nullopt;
    }
    if (back.kind != CfiPlace::AtCfa)
        return std::nullopt;
    const int64_t distance = negative(back.offset);
    if (has_link && saved == 0)
        return is_from_sp && fits(distance, SONDE_RULE_FP_MOST, cpu)
                   ? std::optional(SONDE_RULE(SONDE_RULE_ALONE, cfa, distance / cpu.word))
                   : std::nullopt;
    if (distance != (has_link ? saved - cpu.word : cpu.word))
        return std::nullopt;
    return SONDE_RULE(is_from_sp ? SONDE_RULE_SP : SONDE_RULE_FP, cfa, saved / cpu.word);
}

} // namespace

std::optional<Steps> compile_expression(std::string_view code, const Architecture& architecture) {
    return ExpressionCompiler(code, Processor(architecture)).compile();
}

uint64_t RuleCompiler::number(uint64_t dwarf_number) const {
    const uint64_t out = architecture_.register_of(dwarf_number);
    return out < traits().registers ? out : no_register;
}

// The order of the steps: the CFA; a mark for signal frames; pc, sp and fp; REST; all other registers; END.
std::optional<Steps> RuleCompiler::program(const CfiState& state, bool interrupted) const {
    const Processor cpu(architecture_);
    Steps out;
    if (state.cfa_is_expression) {
        std::optional<Steps> code = ExpressionCompiler(state.cfa_expression, cpu).compile();
        if (!code)
            return std::nullopt;
        out = *std::move(code);
    } else {
        if (state.cfa_register >= cpu.traits.registers || !fits_a_step(state.cfa_offset))
            return std::nullopt;
        out.push_back(step(SONDE_STEP_REGISTER, state.cfa_offset, cpu.index(state.cfa_register)));
    }
    out.push_back(step(SONDE_STEP_SET_CFA));
    if (interrupted)
        out.push_back(step(SONDE_STEP_SIGNAL));
    // Without a return address nothing else matters. It can still be in the link register.
    CfiPlace back = state.places[cpu.traits.return_address];
    if (back.kind == CfiPlace::Same) {
        if (!cpu.traits.has_link_register)
            return std::nullopt;
        back = {CfiPlace::Register, static_cast<int64_t>(cpu.traits.return_address), {}};
    }
    // Set pc first. A handler then knows the caller even if it cannot read another register.
    if (!add_place(out, cpu.pc, back, cpu) || !add_place(out, cpu.sp, state.places[cpu.sp], cpu))
        return std::nullopt;
    if (is_realigned(state, cpu))
        add_realigned(out, cpu);
    else if (!add_place(out, cpu.fp, state.places[cpu.fp], cpu))
        return std::nullopt;
    out.push_back(step(SONDE_STEP_REST));
    for (uint64_t number = 0; number < cpu.traits.registers; number++)
        if (number != cpu.sp && number != cpu.fp && number != cpu.traits.return_address &&
            !add_place(out, number, state.places[number], cpu))
            return std::nullopt;
    out.push_back(step(SONDE_STEP_END));
    return out.size() <= SONDE_STEPS_MOST ? std::optional(std::move(out)) : std::nullopt;
}

// A rule has 28 bits for the index of its first step.
uint32_t RuleCompiler::add(Steps program) {
    auto [entry, fresh] = known_.try_emplace(std::move(program), static_cast<uint32_t>(steps_.size()));
    if (fresh)
        steps_.insert(steps_.end(), entry->first.begin(), entry->first.end());
    constexpr uint32_t most = 1 << 28;
    return entry->second < most ? uint32_t{SONDE_RULE_STEPS} | entry->second << 4 : uint32_t{SONDE_RULE_UNKNOWN};
}

UnwindRow RuleCompiler::compile(const CfiState& described, bool interrupted) {
    const Processor cpu(architecture_);
    const CfiState state = with_pushed_words(described, cpu);
    if (state.places[cpu.traits.return_address].kind == CfiPlace::Undefined)
        return {0, SONDE_RULE_END, 0};
    std::optional<uint32_t> rule = simple_rule(state, cpu), saves = saves_of(state, cpu);
    // If the description of a signal trampoline is only a simple rule, it does not locate the signal frame.
    if (interrupted && cpu.word == 8 && rule)
        return {0, signal_frame(), 0};
    if (rule && saves && !interrupted)
        return {0, *rule, *saves};
    std::optional<Steps> steps = program(state, interrupted);
    return {0, steps ? add(*std::move(steps)) : static_cast<uint32_t>(SONDE_RULE_UNKNOWN), 0};
}

// The link register belongs to the first part: an interrupted function may not have saved it yet.
uint32_t RuleCompiler::signal_frame() {
    const Processor cpu(architecture_);
    const SignalFrame& frame = cpu.traits.signal_frame;
    const uint64_t sp = cpu.index(cpu.sp);
    Steps out = {step(SONDE_STEP_REGISTER, frame.stack_pointer, sp), step(SONDE_STEP_READ, 8), step(SONDE_STEP_SET_CFA),
                 step(SONDE_STEP_SIGNAL)};
    auto is_basic = [&](uint64_t number) {
        return number == cpu.sp || number == cpu.fp || number == cpu.pc || number == cpu.traits.return_address;
    };
    auto take = [&](bool basic) {
        for (size_t i = 0; i < frame.registers.size(); i++) {
            if (is_basic(frame.registers[i]) != basic)
                continue;
            out.push_back(step(SONDE_STEP_REGISTER, frame.first + 8 * static_cast<int64_t>(i), sp));
            out.push_back(step(SONDE_STEP_READ, 8));
            out.push_back(step(SONDE_STEP_SET, 0, cpu.index(frame.registers[i])));
        }
    };
    take(true);
    out.push_back(step(SONDE_STEP_REST));
    take(false);
    out.push_back(step(SONDE_STEP_END));
    return add(std::move(out));
}

// If the result is not 0, jump over the steps for the new thread. A return address of 0 ends the stack.
uint32_t RuleCompiler::after_clone() {
    const Processor cpu(architecture_);
    const uint64_t sp = cpu.index(cpu.sp), pc = cpu.index(cpu.pc),
                   result = cpu.index(static_cast<uint64_t>(architecture_.registers().result()));
    const Steps outermost = {step(SONDE_STEP_NUMBER, 0), step(SONDE_STEP_SET, 0, pc), step(SONDE_STEP_END)};
    Steps out = {step(SONDE_STEP_REGISTER, 0, result), step(SONDE_STEP_BRANCH, static_cast<int64_t>(outermost.size()))};
    out.insert(out.end(), outermost.begin(), outermost.end());
    for (const uint64_t one :
         {step(SONDE_STEP_REGISTER, 8, sp), step(SONDE_STEP_SET_CFA), step(SONDE_STEP_REGISTER, 0, sp),
          step(SONDE_STEP_READ, 8), step(SONDE_STEP_SET, 0, pc), step(SONDE_STEP_REST), step(SONDE_STEP_END)})
        out.push_back(one);
    return add(std::move(out));
}

} // namespace sonde
