// A simulation of all paths from the entries. It knows the distance of the stack pointer and of the frame pointer from
// the CFA, and where the caller's frame pointer and return address are. An example, with the distances of rsp and rbp:
//
//     push %rbp            8, -       the return address is at the CFA - 8
//     mov  %rsp, %rbp     16, -       the caller's rbp is at the CFA - 16
//     call f              16, 16
//     pop  %rbp           16, 16
//     ret                  8, -       rbp is the caller's again
#include "runtime/symbols/code_frames.h"

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

// A register of the caller.
struct CallerRegister {
    bool is_kept = true;          // it still has the caller's value
    std::optional<int64_t> place; // where the value is saved: so many bytes below the CFA

    bool operator==(const CallerRegister&) const = default;
    void merge(const CallerRegister& other) {
        is_kept = is_kept && other.is_kept;
        if (place != other.place)
            place = std::nullopt;
    }
};

// The frame before an instruction. Distances are in bytes below the CFA.
struct CodeFrame {
    std::optional<int64_t> stack;   // the stack pointer
    std::optional<int64_t> pointer; // the frame pointer, if the code has set it to an address in its frame
    CallerRegister fp, link;

    bool operator==(const CodeFrame&) const = default;
    void merge(const CodeFrame& other) {
        if (stack != other.stack)
            stack = std::nullopt;
        if (pointer != other.pointer)
            pointer = std::nullopt;
        fp.merge(other.fp);
        link.merge(other.link);
    }
};

class FrameFollower {
  public:
    FrameFollower(std::string_view code, const Architecture& architecture)
        : code_(code), architecture_(architecture), sp_(architecture.registers().stack_pointer),
          fp_(architecture.registers().frame_pointer), word_(architecture.word_size()) {
        const UnwindTraits& traits = architecture.unwind_traits();
        link_ = traits.has_link_register ? static_cast<int>(traits.return_address) : -1;
    }

    void follow_from(size_t entry) {
        join(entry, at_entry());
        entries_.push_back(entry);
        for (; !waiting_.empty() && steps_ < most_steps; steps_++) {
            const size_t at = waiting_.back();
            waiting_.pop_back();
            follow(at);
        }
    }

    // The rows of the code up to `size`.
    std::vector<FrameRow> rows(size_t size) {
        if (!waiting_.empty()) { // too many steps, so a path is missing
            known_.clear();
            for (size_t entry : entries_)
                known_[entry].frame = at_entry();
        }
        std::vector<FrameRow> out;
        auto push = [&](size_t at, FrameRow row) {
            row.at = at;
            if (at < size && (out.empty() || !out.back().same_frame(row)))
                out.push_back(row);
        };
        const FrameRow unknown = row_without_path();
        size_t end = 0;
        for (const auto& [at, known] : known_) {
            if (at > end)
                push(end, unknown);
            push(at, row_of(known.frame).value_or(unknown));
            end = std::max(at + std::max<size_t>(known.length, 1), end);
        }
        push(end, unknown);
        return out;
    }

  private:
    // A program's functions have some thousand instructions at most. The limit bounds the time for other bytes.
    static constexpr size_t most_steps = 1 << 16;

    struct Known {
        CodeFrame frame;
        size_t length = 0; // of the instruction; 0: it is not understood
    };

    CodeFrame at_entry() const { return {link_ < 0 ? word_ : 0, std::nullopt, {}, {}}; }

    void join(size_t at, const CodeFrame& frame) {
        if (at > code_.size())
            return;
        const auto [found, is_new] = known_.try_emplace(at, Known{frame});
        CodeFrame& old = found->second.frame;
        const CodeFrame before = old;
        old.merge(frame);
        if (is_new || old != before)
            waiting_.push_back(at);
    }

    void follow(size_t at) {
        Known& known = known_[at];
        const std::optional<AnalyzedInstruction> found = architecture_.analyze(code_.substr(at));
        if (!found)
            return;
        const Instruction& one = found->instruction;
        known.length = one.length;
        frame_ = known.frame;
        const size_t next = at + one.length;
        if (one.is_call()) {
            call(one, next);
        } else {
            apply(one, found->effect);
            if (one.is_direct_jump())
                join(one.target(next), frame_);
        }
        if (!one.ends_flow())
            join(next, frame_);
    }

    // The called function returns with the same stack pointer, and preserves the frame pointer. If its code is here, it
    // is followed, too. A call of the next instruction, which finds out its own address, does not return.
    void call(const Instruction& one, size_t next) {
        const bool is_direct = one.flow == Flow::Call;
        if (link_ >= 0)
            frame_.link.is_kept = false;
        if (is_direct && one.target(next) == next)
            move_stack(link_ < 0 ? -word_ : 0);
        else if (is_direct)
            join(one.target(next), at_entry());
    }

    void apply(const Instruction& one, const Effect& effect) {
        const std::optional<int64_t> memory = place_of(one.memory);
        switch (effect.kind) {
        case Effect::None:
        case Effect::Change:
            break;
        case Effect::Push:
            move_stack(-word_);
            store(effect.from, frame_.stack, word_);
            break;
        case Effect::Pop:
            load(effect.to, frame_.stack);
            move_stack(word_);
            break;
        case Effect::Store:
        case Effect::StorePair: {
            const auto size = static_cast<int64_t>(effect.size);
            store(effect.from_vector ? -1 : effect.from, memory, size);
            if (effect.kind == Effect::StorePair)
                store(effect.from_vector ? -1 : effect.second, memory ? std::optional(*memory - size) : std::nullopt,
                      size);
            break;
        }
        case Effect::Copy:
            copy(effect);
            break;
        case Effect::MoveStack:
            if (effect.distance)
                move_stack(*effect.distance);
            else
                frame_.stack = std::nullopt;
            break;
        case Effect::Sign:
            return;
        case Effect::Leave:
            frame_.stack = frame_.pointer;
            load(fp_, frame_.stack);
            move_stack(word_);
            break;
        }
        change(one, effect, memory);
        move_stack(effect.then_moves_stack);
    }

    // Registers that change otherwise. They may be loaded from where they are saved, one or two at a time.
    void change(const Instruction& one, const Effect& effect, std::optional<int64_t> memory) {
        // `moves_stack` and `changes` err on the side of a change, but not for the same instructions. A push of a word
        // in memory changes no register that it names.
        const bool names_stack = effect.changes >> sp_ & 1 || effect.changes == 0;
        if (effect.kind == Effect::Change && one.moves_stack && names_stack && effect.then_moves_stack == 0)
            frame_.stack = std::nullopt;
        if (!one.memory.exists || one.memory.is_written)
            memory = std::nullopt;
        for (int reg : {fp_, link_}) {
            if (reg < 0 || !(effect.changes >> reg & 1))
                continue;
            const std::optional<int64_t> place = caller(reg).place;
            const bool is_second = memory && place && *memory - word_ == *place;
            load(reg, is_second ? place : memory);
        }
    }

    CallerRegister& caller(int reg) { return reg == fp_ ? frame_.fp : frame_.link; }

    void move_stack(int64_t distance) {
        if (frame_.stack)
            *frame_.stack -= distance;
    }

    // Where an operand is, if it is in the frame. Code addresses its frame by the stack pointer or the frame pointer.
    std::optional<int64_t> place_of(const MemoryOperand& memory) const {
        if (!memory.exists || memory.has_index || (memory.base != sp_ && memory.base != fp_))
            return std::nullopt;
        const std::optional<int64_t> base = memory.base == sp_ ? frame_.stack : frame_.pointer;
        return base ? std::optional(*base - memory.displacement) : std::nullopt;
    }

    void store(int from, std::optional<int64_t> place, int64_t size) {
        if (!place)
            return;
        for (CallerRegister* saved : {&frame_.fp, &frame_.link})
            if (saved->place && *place > *saved->place - word_ && *place - size < *saved->place)
                saved->place = std::nullopt;
        if (from >= 0 && (from == fp_ || from == link_) && caller(from).is_kept && size == word_)
            caller(from).place = place;
    }

    // `place`: where the new value comes from; empty: it is another value.
    void load(int to, std::optional<int64_t> place) {
        if (to == sp_)
            frame_.stack = std::nullopt;
        if (to < 0 || (to != fp_ && to != link_))
            return;
        caller(to).is_kept = place && place == caller(to).place;
        if (to == fp_)
            frame_.pointer = std::nullopt;
    }

    void copy(const Effect& effect) {
        std::optional<int64_t> place = effect.from == sp_   ? frame_.stack
                                       : effect.from == fp_ ? frame_.pointer
                                                            : std::nullopt;
        if (place)
            *place -= effect.added;
        if (!effect.whole)
            place = std::nullopt;
        load(effect.to, std::nullopt);
        if (effect.to == sp_)
            frame_.stack = place;
        if (effect.to == fp_)
            frame_.pointer = place;
    }

    // The distance in words if a row can hold it.
    std::optional<unsigned> words(std::optional<int64_t> bytes, int64_t most) const {
        if (!bytes || *bytes < 0 || *bytes % word_ != 0 || *bytes / word_ > most)
            return std::nullopt;
        return static_cast<unsigned>(*bytes / word_);
    }

    std::optional<FrameRow> row_of(const CodeFrame& frame) const {
        const std::optional<unsigned> stack = words(frame.stack, SONDE_RULE_CFA_MOST),
                                      pointer = words(frame.pointer, SONDE_RULE_CFA_MOST),
                                      saved = frame.fp.is_kept ? 0 : words(frame.fp.place, SONDE_RULE_FP_MOST);
        if (!saved || (!stack && !pointer))
            return std::nullopt;
        if (link_ >= 0 && *saved == 0) {
            const std::optional<unsigned> link = words(frame.link.place, SONDE_RULE_FP_MOST);
            if (stack && frame.link.is_kept)
                return FrameRow{0, FrameRow::Link, *stack, 0};
            return stack && link ? std::optional(FrameRow{0, FrameRow::Alone, *stack, *link}) : std::nullopt;
        }
        // A rule with a saved frame pointer implies that the return address is next to it.
        if (link_ >= 0 && frame.link.place != *frame.fp.place - word_)
            return std::nullopt;
        return pointer ? FrameRow{0, FrameRow::Pointer, *pointer, *saved}
                       : FrameRow{0, FrameRow::Stack, *stack, *saved};
    }

    // The row of code that no path reaches. If the other code has set up its own frame pointer, this code has it, too,
    // except in front of a return. Without a link register, handlers look for that return.
    FrameRow row_without_path() const {
        for (const auto& [_, known] : known_) {
            const std::optional<FrameRow> row = row_of(known.frame);
            if (row && row->kind == FrameRow::Pointer && link_ >= 0)
                return *row;
            if (row && row->kind == FrameRow::Pointer && row->cfa == 2 && row->saved == 2)
                return {0, FrameRow::Frame, 0, 0};
        }
        return {};
    }

    const std::string_view code_;
    const Architecture& architecture_;
    const int sp_, fp_;
    int link_; // the register with the return address; -1: calls store it in the stack
    const int64_t word_;
    std::map<size_t, Known> known_; // by the place of the instruction
    std::vector<size_t> entries_, waiting_;
    size_t steps_ = 0;
    CodeFrame frame_; // after the current instruction
};

} // namespace

std::vector<UnwindRow> rows_of_frames(uint64_t address, const std::vector<FrameRow>& frames) {
    std::vector<UnwindRow> out;
    for (const FrameRow& frame : frames) {
        constexpr uint32_t kinds[] = {SONDE_RULE_NONE, SONDE_RULE_NONE, SONDE_RULE_SP,
                                      SONDE_RULE_FP,   SONDE_RULE_LINK, SONDE_RULE_ALONE};
        constexpr uint32_t own_frame = 2;
        out.push_back(
            {address + frame.at,
             SONDE_RULE(kinds[frame.kind], frame.kind == FrameRow::Frame ? own_frame : frame.cfa, frame.saved), 0});
    }
    return out;
}

std::vector<UnwindRow> rows_by_code(uint64_t address, uint64_t size, std::string_view code,
                                    std::span<const uint64_t> entries, const Architecture& architecture) {
    FrameFollower follower(code.substr(0, size), architecture);
    for (uint64_t entry : entries)
        follower.follow_from(entry - address);
    return rows_of_frames(address, follower.rows(size));
}

} // namespace sonde
