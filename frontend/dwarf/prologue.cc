// Simulates a function's first block. The state is deliberately simple: for each register and each byte of the frame,
// whether it holds a value that the caller has passed. Instructions that are not understood clear what they may change.
// So the simulation can lose a fact, but should never invent one.
//
// An example, with the state after each instruction:
//
//     push %rbp              the stack pointer is -16; the frame is relative to the CFA
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
#include <set>

namespace sonde {
namespace {

constexpr size_t most_instructions = 128;
constexpr int most_registers = 32;

// Simulates instructions. It only knows which registers and stack bytes still have values that the caller has passed,
// and where the stack and frame pointers point to; it does not know the values.
class Follower {
  public:
    // `watched`: a register for value_of_watched(), or -1.
    Follower(const Architecture& architecture, Address entry, int watched = -1)
        : registers_(architecture.registers()), word_(architecture.word_size()), watched_(watched) {
        for (int reg : registers_.arguments)
            state_.passed[reg] = true;
        for (int i = 0; i < registers_.vector_arguments; i++)
            vectors_[i] = true;
        state_.address = entry;
        state_.stack_pointer = -registers_.call.pushed; // the return address is there
    }
    const PrologueState& state() const { return state_; }

    // The operations for the value that the watched register had at the entry. Empty: unknown.
    std::vector<LocationOp> value_of_watched() const {
        if (watched_ >= 0)
            return {{LocationOp::Register, watched_}};
        if (!kept_ || !state_.stack_pointer)
            return {};
        return {{LocationOp::Register, registers_.stack_pointer},
                {LocationOp::Constant, *kept_ - *state_.stack_pointer},
                {LocationOp::Add},
                {LocationOp::Deref, word_}};
    }

    // Executes an instruction. Returns false if the state after it is unknown.
    bool step(const Instruction& one, const Effect& effect) {
        state_.address += one.length;
        if (one.transfers())
            return false;
        switch (effect.kind) {
        case Effect::None:
            break;
        case Effect::Push:
            move_stack(-word_);
            fill(state_.stack_pointer, static_cast<uint64_t>(word_), effect.from >= 0 && state_.passed[effect.from]);
            break;
        case Effect::Pop:
            move_stack(word_);
            set(effect.to, false);
            break;
        case Effect::Store:
            put(one.memory, effect, effect.from, 0);
            break;
        case Effect::StorePair:
            put(one.memory, effect, effect.from, 0);
            put(one.memory, effect, effect.second, static_cast<int64_t>(effect.size));
            break;
        case Effect::Copy:
            copy(effect);
            break;
        case Effect::MoveStack:
            move_stack(effect.distance);
            break;
        case Effect::Leave:
            set(registers_.frame_pointer, false);
            set(registers_.stack_pointer, false);
            break;
        case Effect::Sign:
        case Effect::Change:
            break;
        }
        change(effect);
        if (effect.then_moves_stack != 0)
            move_stack(effect.then_moves_stack);
        return true;
    }

  private:
    // Marks bytes of the frame as written, with a value that the caller has passed or with another one.
    void fill(std::optional<int64_t> from, uint64_t size, bool with_passed) {
        if (!from)
            return;
        int64_t to = *from + static_cast<int64_t>(size);
        if (kept_ && *from < *kept_ + word_ && to > *kept_)
            kept_ = std::nullopt;
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

    void move_stack(std::optional<int64_t> distance) {
        if (!distance)
            state_.stack_pointer = std::nullopt;
        else if (state_.stack_pointer)
            *state_.stack_pointer += *distance;
    }

    // Compilers use the stack and frame pointers to access their own frame, and no other registers.
    // `behind`: bytes from the memory operand to the place of the register `from`.
    void put(const MemoryOperand& memory, const Effect& store, int from, int64_t behind) {
        const bool by_stack = memory.base == registers_.stack_pointer;
        if (memory.has_index || (!by_stack && memory.base != registers_.frame_pointer))
            return;
        const std::optional<int64_t> base = by_stack ? state_.stack_pointer : state_.frame_pointer;
        const bool is_constant = from < 0;
        if (!base)
            return;
        const int64_t place = *base + memory.displacement + behind;
        // A constant may overwrite less than a word, but is never a part of an argument.
        fill(place, is_constant ? static_cast<uint64_t>(word_) : store.size,
             !is_constant && (store.from_vector ? vectors_[from] : state_.passed[from]));
        if (!is_constant && !store.from_vector && from == watched_ && store.size == static_cast<uint64_t>(word_))
            kept_ = place;
    }

    // If all bits are copied, a copied stack pointer still points to the frame.
    void copy(const Effect& effect) {
        std::optional<int64_t> place = effect.from == registers_.stack_pointer   ? state_.stack_pointer
                                       : effect.from == registers_.frame_pointer ? state_.frame_pointer
                                                                                 : std::nullopt;
        if (place)
            *place += effect.added;
        set(effect.to, state_.passed[effect.from] && effect.added == 0);
        if (effect.to == registers_.frame_pointer && effect.whole)
            state_.frame_pointer = place;
        if (effect.to == registers_.stack_pointer && effect.whole)
            state_.stack_pointer = place;
    }

    void set(int reg, bool passed) {
        state_.passed[reg] = passed;
        forget_watched(reg);
        if (reg == registers_.frame_pointer)
            state_.frame_pointer = std::nullopt;
        if (reg == registers_.stack_pointer)
            state_.stack_pointer = std::nullopt;
    }

    void change(const Effect& effect) {
        for (int i = 0; i < most_registers; i++) {
            const uint32_t bit = uint32_t{1} << i;
            if (effect.changes & bit)
                set(i, false);
            if (effect.may_change & bit) {
                state_.passed[i] = false;
                forget_watched(i);
            }
            if (effect.changes_vectors & bit)
                vectors_[i] = false;
        }
    }

    void forget_watched(int changed) {
        if (changed == watched_)
            watched_ = -1;
    }

    const RegisterFile& registers_;
    const int64_t word_;
    int watched_;                 // -1: none, or its value has changed
    std::optional<int64_t> kept_; // where the watched register was stored, relative to the CFA
    PrologueState state_;
    bool vectors_[most_registers] = {}; // see PrologueState::passed
};

} // namespace

bool PrologueState::is_filled(int64_t from, int64_t to) const {
    for (auto [low, high] : filled)
        if (low <= from && from < high)
            from = high;
    return from >= to;
}

std::vector<PrologueState> follow_prologue(const Architecture& architecture, std::string_view code, Address entry) {
    Follower follower(architecture, entry);
    std::vector<PrologueState> states = {follower.state()};
    while (states.size() < most_instructions) {
        const std::string_view rest = code.substr(std::min<size_t>(states.back().address - entry, code.size()));
        const std::optional<AnalyzedInstruction> one = architecture.analyze(rest);
        if (!one || !follower.step(one->instruction, one->effect))
            break;
        states.push_back(follower.state());
    }
    return states;
}

std::vector<LocationOp> value_of_entry(const Architecture& architecture, std::string_view code, int reg) {
    Follower follower(architecture, 0, reg);
    while (follower.state().address < code.size()) {
        const std::optional<AnalyzedInstruction> one = architecture.analyze(code.substr(follower.state().address));
        if (!one || !follower.step(one->instruction, one->effect))
            return {};
    }
    return follower.value_of_watched();
}

namespace {

// What an instruction does with a place in memory, which is relative to a register.
enum class Access : uint8_t { None, Reads, MayWrite };

Access access_of(const RegisterFile& registers, const Instruction& one, const Effect& effect, int reg, int64_t from,
                 int64_t to) {
    const MemoryOperand& memory = one.memory;
    if (!memory.exists || one.operation == Operation::Address || memory.base < 0)
        return Access::None;
    const bool is_pair = effect.kind == Effect::StorePair, is_store = is_pair || effect.kind == Effect::Store;
    constexpr int64_t most_bytes = 16;
    const int64_t at = memory.displacement,
                  size = is_store ? static_cast<int64_t>(effect.size) * (is_pair ? 2 : 1) : most_bytes;
    if (memory.base == reg && !memory.has_index && at < to && at + size > from)
        return is_store ? Access::MayWrite : Access::Reads;
    // Another register can have the address of the place.
    const bool is_elsewhere =
        memory.base != reg && memory.base != registers.stack_pointer && memory.base != registers.frame_pointer;
    return is_elsewhere && is_store && size <= to - from ? Access::MayWrite : Access::None;
}

bool moves_stack(const Effect& effect) {
    return effect.kind == Effect::Push || effect.kind == Effect::Pop || effect.kind == Effect::MoveStack ||
           effect.then_moves_stack != 0;
}

} // namespace

bool may_write_first(const Architecture& architecture, std::string_view code, int reg, int64_t from, int64_t to) {
    std::set<size_t> seen;
    std::vector<size_t> ways = {0};
    while (!ways.empty()) {
        size_t at = ways.back();
        ways.pop_back();
        while (at < code.size() && seen.size() < most_instructions && seen.insert(at).second) {
            const std::optional<AnalyzedInstruction> analyzed = architecture.analyze(code.substr(at));
            if (!analyzed || analyzed->instruction.is_call())
                break;
            const auto& [one, effect, unused] = *analyzed;
            const Access access = access_of(architecture.registers(), one, effect, reg, from, to);
            if (access == Access::MayWrite)
                return true;
            if (access == Access::Reads || moves_stack(effect))
                break;
            at += one.length;
            if (one.is_direct_jump())
                ways.push_back(at + static_cast<size_t>(one.distance)); // before the code: a huge number
            if (one.ends_flow())
                break;
        }
    }
    return false;
}

} // namespace sonde
