// Call frame information is a program, not a table. For every function a CIE (shared between functions) and an FDE (one
// per function) hold instructions such as "move on by 3 bytes" or "the CFA is now fp + 16". To find the caller at an
// address, an unwinder runs these instructions up to the address. A BPF handler cannot do that for each frame of each
// stack: the search through .eh_frame alone would exceed its limits.
//
// So the runtime runs the instructions once for each file, and records the result at every address where it changes.
// Example:
//
//     code                     instructions                            row
//     1000  push %rbp          CIE: CFA = sp + 8, pc at CFA - 8      1000  SONDE_RULE(SP, 1, 0)
//     1001  mov %rsp,%rbp      advance 1; CFA = sp + 16;              1001  SONDE_RULE(SP, 2, 2)
//                              fp at CFA - 16
//     1004  ...                advance 3; CFA = fp + 16               1004  SONDE_RULE(FP, 2, 2)
//     1020  the next function                                          1020  SONDE_RULE_NONE
//
// RuleCompiler (unwind_rules.h) packs each state of the registers into a 32-bit rule.
//
// A wrong rule is worse than none, because it produces a wrong stack that looks right. Three decisions follow:
// * When Machine meets an instruction that it does not support, it keeps the rows so far and ends the function with
//   SONDE_RULE_UNKNOWN. The last known row is not extended.
// * Of two functions that overlap, only the first one is kept (add_functions).
// * An FDE is skipped if its CIE is not understood (base/debug/call_frames.h).
#include "runtime/symbols/cfi.h"

#include <algorithm>

#include "runtime/plan/file_table.h"

namespace sonde {
namespace {

// Limits against damaged or hostile files: rows of a section, and nested DW_CFA_remember_state.
constexpr size_t most_rows = 1 << 24, most_remembered = 64;

// Runs the instructions of a CIE and an FDE and produces the rows of a function, from `begin` up to `end`.
class Machine {
  public:
    // Runs the instructions of the CIE. They set the initial state only, so they produce no rows.
    Machine(const Cie& cie, uint64_t begin, uint64_t end, RuleCompiler& rules)
        : cie_(cie), rules_(rules), at_(begin), end_(end) {
        good_ = run(cie.instructions, nullptr);
        initial_ = state_;
    }

    // Runs the instructions of the FDE. Returns false if one of them is not supported; the rows up to there are valid,
    // and the last row is SONDE_RULE_UNKNOWN.
    bool compile(std::string_view instructions, std::vector<UnwindRow>& rows) {
        good_ = good_ && run(instructions, &rows);
        add(rows, good_ ? row() : UnwindRow{0, SONDE_RULE_UNKNOWN, 0});
        return good_;
    }

  private:
    // The rule for the current state of the registers.
    UnwindRow row() { return rules_.compile(state_, cie_.is_signal_frame); }
    // Adds a row at the current address. Several rows for one address replace each other: only the last state holds.
    void add(std::vector<UnwindRow>& rows, UnwindRow row) {
        if (at_ >= end_)
            return;
        row.address = at_;
        if (!rows.empty() && rows.back().address == at_)
            rows.back() = row;
        else
            rows.push_back(row);
    }

    // Offsets in the instructions are multiples of the CIE's data alignment factor.
    int64_t factored(uint64_t offset) const {
        return static_cast<int64_t>(offset * static_cast<uint64_t>(cie_.data_align));
    }
    // Moves on to a later address. Stops at the function's end if the instructions go beyond.
    void advance(uint64_t delta, std::vector<UnwindRow>* rows) {
        if (!rows)
            return;
        if (delta != 0)
            add(*rows, row());
        uint64_t moved = delta * cie_.code_align;
        at_ = moved > end_ - at_ ? end_ : at_ + moved;
    }
    // Ignores registers that rules do not track, such as those for floating point numbers.
    void set(uint64_t number, const CfiPlace& place) {
        if (number = rules_.number(number); number != RuleCompiler::no_register)
            state_.places[number] = place;
    }
    // DW_CFA_restore returns to the state after the CIE's instructions, not to the previous one.
    void restore(uint64_t number) {
        if (number = rules_.number(number); number != RuleCompiler::no_register)
            state_.places[number] = initial_.places[number];
    }
    void define_cfa(uint64_t number, int64_t offset) {
        state_.cfa_is_expression = false;
        state_.cfa_register = number;
        state_.cfa_offset = offset;
    }

    // Runs instructions until they end or reach the function's end. `rows` is null for those of a CIE. The two high
    // bits of the first byte select a short instruction with a 6-bit operand; 0 selects the others.
    bool run(std::string_view instructions, std::vector<UnwindRow>* rows) {
        ByteCursor in(instructions);
        while (!in.empty() && at_ < end_) {
            auto byte = in.take<uint8_t>();
            uint64_t low = byte & 0x3f;
            switch (byte & 0xc0) {
            case 0x40: // DW_CFA_advance_loc
                advance(low, rows);
                continue;
            case 0x80: // DW_CFA_offset
                set(low, {CfiPlace::AtCfa, factored(in.uleb()), {}});
                continue;
            case 0xc0: // DW_CFA_restore
                restore(low);
                continue;
            default:
                break;
            }
            if (!extended(byte, in, rows))
                return false;
        }
        return !in.failed();
    }

    // The instructions whose opcode takes the whole byte (DWARF 5, section 7.24). Returns false for an instruction that
    // is not supported.
    bool extended(uint8_t byte, ByteCursor& in, std::vector<UnwindRow>* rows) {
        uint64_t number = 0;
        switch (byte) {
        case 0x00: // DW_CFA_nop
            return true;
        case 0x01: { // DW_CFA_set_loc
            uint64_t to = take_pointer(in, cie_.pointers & 0x0f, rules_.word());
            // Compilers do not emit this instruction. A relative pointer would need the instruction's own address.
            if ((cie_.pointers & 0x70) != 0 || to < at_ || cie_.code_align == 0)
                return false;
            advance((to - at_) / cie_.code_align, rows);
            return true;
        }
        case 0x02: // DW_CFA_advance_loc1
            advance(in.take<uint8_t>(), rows);
            return true;
        case 0x03: // DW_CFA_advance_loc2
            advance(in.take<uint16_t>(), rows);
            return true;
        case 0x04: // DW_CFA_advance_loc4
            advance(in.take<uint32_t>(), rows);
            return true;
        case 0x05: // DW_CFA_offset_extended
            number = in.uleb();
            set(number, {CfiPlace::AtCfa, factored(in.uleb()), {}});
            return true;
        case 0x06: // DW_CFA_restore_extended
            restore(in.uleb());
            return true;
        case 0x07: // DW_CFA_undefined
            set(in.uleb(), {CfiPlace::Undefined, 0, {}});
            return true;
        case 0x08: // DW_CFA_same_value
            set(in.uleb(), {CfiPlace::Same, 0, {}});
            return true;
        case 0x09: // DW_CFA_register
            number = in.uleb();
            set(number, {CfiPlace::Register, static_cast<int64_t>(in.uleb()), {}});
            return true;
        case 0x0a: // DW_CFA_remember_state
            remembered_.push_back(state_);
            return remembered_.size() < most_remembered;
        case 0x0b: // DW_CFA_restore_state
            if (remembered_.empty())
                return false;
            state_ = remembered_.back();
            remembered_.pop_back();
            return true;
        case 0x0c: // DW_CFA_def_cfa
            number = rules_.number(in.uleb());
            define_cfa(number, static_cast<int64_t>(in.uleb()));
            return true;
        case 0x0d: // DW_CFA_def_cfa_register
            define_cfa(rules_.number(in.uleb()), state_.cfa_offset);
            return true;
        case 0x0e: // DW_CFA_def_cfa_offset
            define_cfa(state_.cfa_register, static_cast<int64_t>(in.uleb()));
            return true;
        case 0x0f: // DW_CFA_def_cfa_expression
            state_.cfa_is_expression = true;
            state_.cfa_expression = in.take_bytes(in.uleb());
            return true;
        case 0x10: // DW_CFA_expression
            number = in.uleb();
            set(number, {CfiPlace::Expression, 0, in.take_bytes(in.uleb())});
            return true;
        case 0x11: // DW_CFA_offset_extended_sf
            number = in.uleb();
            set(number, {CfiPlace::AtCfa, factored(static_cast<uint64_t>(in.sleb())), {}});
            return true;
        case 0x12: // DW_CFA_def_cfa_sf
            number = rules_.number(in.uleb());
            define_cfa(number, factored(static_cast<uint64_t>(in.sleb())));
            return true;
        case 0x13: // DW_CFA_def_cfa_offset_sf
            define_cfa(state_.cfa_register, factored(static_cast<uint64_t>(in.sleb())));
            return true;
        case 0x14: // DW_CFA_val_offset
            number = in.uleb();
            set(number, {CfiPlace::CfaItself, factored(in.uleb()), {}});
            return true;
        case 0x15: // DW_CFA_val_offset_sf
            number = in.uleb();
            set(number, {CfiPlace::CfaItself, factored(static_cast<uint64_t>(in.sleb())), {}});
            return true;
        case 0x16: // DW_CFA_val_expression
            number = in.uleb();
            set(number, {CfiPlace::Value, 0, in.take_bytes(in.uleb())});
            return true;
        case 0x2c: // DW_CFA_AARCH64_negate_ra_state_with_pc
        case 0x2d: // DW_CFA_AARCH64_negate_ra_state, DW_CFA_GNU_window_save on other processors
            // The signature in a return address. Handlers remove it from every return address.
            return rules_.traits().has_link_register;
        case 0x2e: // DW_CFA_GNU_args_size
            in.uleb();
            return true;
        default:
            return false;
        }
    }

    const Cie& cie_;
    RuleCompiler& rules_;
    CfiState state_, initial_;
    std::vector<CfiState> remembered_;
    uint64_t at_, end_;
    bool good_ = true;
};

} // namespace

// Records follow each other, each with its length first. A CIE precedes the FDEs that refer to it. In .eh_frame of
// several inputs, CIEs and FDEs alternate, so the CIEs are kept by their offset.
std::vector<CfiFunction> read_cfi(std::string_view section, uint64_t address, CfiKind kind, RuleCompiler& rules) {
    std::vector<CfiFunction> functions;
    size_t total = 0;
    for_each_fde(section, address, kind, rules.word(), [&](const Fde& fde) {
        if (rules.number(fde.cie.return_register) != rules.traits().return_address)
            return true;
        CfiFunction function{fde.begin, fde.end, {}};
        Machine(fde.cie, fde.begin, fde.end, rules).compile(fde.instructions, function.rows);
        total += function.rows.size() + 1;
        functions.push_back(std::move(function));
        return total < most_rows;
    });
    return functions;
}

// Both lists are sorted, and merged once at the end. `covered` is the end of the last function from `more` that was
// added.
void add_functions(std::vector<CfiFunction>& to, std::vector<CfiFunction> more) {
    auto earlier = [](const CfiFunction& a, const CfiFunction& b) { return a.begin < b.begin; };
    std::stable_sort(more.begin(), more.end(), earlier);
    const auto known = static_cast<std::ptrdiff_t>(to.size());
    uint64_t covered = 0;
    for (CfiFunction& function : more) {
        auto next = std::upper_bound(to.begin(), to.begin() + known, function, earlier);
        const bool overlaps = (next != to.begin() && std::prev(next)->end > function.begin) ||
                              (next != to.begin() + known && next->begin < function.end) || function.begin < covered;
        if (overlaps)
            continue; // one of the two descriptions is wrong
        covered = function.end;
        to.push_back(std::move(function));
    }
    std::inplace_merge(to.begin(), to.begin() + known, to.end(), earlier);
}

std::vector<UnwindRow> join_functions(const std::vector<CfiFunction>& functions) {
    std::vector<UnwindRow> rows;
    for (const CfiFunction& function : functions) {
        if (!rows.empty() && function.begin == rows.back().address)
            rows.pop_back(); // the gap that followed the last function is empty
        for (const UnwindRow& row : function.rows)
            if (rows.empty() || !rows.back().same_rule(row))
                rows.push_back(row);
        rows.push_back({function.end, SONDE_RULE_NONE, 0});
    }
    return rows;
}

UnwindRules compile_cfi(std::string_view section, uint64_t address, CfiKind kind, const Architecture& architecture) {
    UnwindRules out;
    RuleCompiler rules(architecture, out.steps);
    std::vector<CfiFunction> functions;
    add_functions(functions, read_cfi(section, address, kind, rules));
    out.rows = join_functions(functions);
    return out;
}

} // namespace sonde
