// Call frame information is a program, not a table. For every function a CIE (shared between functions) and an FDE (one
// per function) hold instructions such as "move on by 3 bytes" or "the CFA is now rbp + 16". To find the caller at an
// address, an unwinder runs these instructions up to the address. A BPF handler cannot do that for each frame of each
// stack: the search through .eh_frame alone would exceed its limits.
//
// So the runtime runs the instructions once for each file, and records the result at every address where it changes.
// Example:
//
//     code                     instructions                            row
//     1000  push %rbp          CIE: CFA = rsp + 8, rip at CFA - 8      1000  SONDE_RULE(RSP, 1, 0)
//     1001  mov %rsp,%rbp      advance 1; CFA = rsp + 16;              1001  SONDE_RULE(RSP, 2, 2)
//                              rbp at CFA - 16
//     1004  ...                advance 3; CFA = rbp + 16               1004  SONDE_RULE(RBP, 2, 2)
//     1020  the next function                                          1020  SONDE_RULE_NONE
//
// RuleCompiler (unwind_rules.h) packs each state of the registers into a 32-bit rule.
//
// A wrong rule is worse than none, because it produces a wrong stack that looks right. Three decisions follow:
// * When Machine meets an instruction that it does not support, it keeps the rows so far and ends the function with
//   SONDE_RULE_UNKNOWN. The last known row is not extended.
// * Of two functions that overlap, only the first one is kept (add_functions).
// * An FDE is skipped if its CIE has an unknown version or augmentation, because then the lengths of the fields that
//   follow are unknown.
#include "runtime/symbols/cfi.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "runtime/plan/file_table.h"
#include "runtime/symbols/cfi_reader.h"

namespace sonde {
namespace {

// Limits against damaged or hostile files: rows of a section, and nested DW_CFA_remember_state.
constexpr size_t most_rows = 1 << 24, most_remembered = 64;

// A Common Information Entry: the part of a description that many functions share.
struct Cie {
    const CfiWidth* width = &wide_cfi;
    uint64_t code_align = 1;
    int64_t data_align = 1;
    uint8_t pointer_encoding = 0;
    bool sized_augmentation = false, signal_frame = false;
    std::string_view instructions;
};

// Reads a CIE. `record` starts after the length field, at `address`. Returns nothing if sonde does not support the CIE.
std::optional<Cie> read_cie(std::string_view record, uint64_t address, const CfiWidth& width) {
    CfiReader in(record, address);
    in.take<uint32_t>(); // the CIE's id; the caller has checked it
    Cie out;
    out.width = &width;
    auto version = in.take<uint8_t>();
    if (version != 1 && version != 3 && version != 4)
        return std::nullopt;
    std::string_view augmentation = in.string();
    if (version == 4) { // sizes in bytes of an address and of a segment selector
        auto address_size = in.take<uint8_t>(), segment_size = in.take<uint8_t>();
        if (address_size != width.word || segment_size != 0)
            return std::nullopt;
    }
    out.code_align = in.uleb();
    out.data_align = in.sleb();
    const uint64_t return_register = width.number(version == 1 ? in.take<uint8_t>() : in.uleb());
    if (augmentation.starts_with('z')) {
        out.sized_augmentation = true;
        uint64_t size = in.uleb();
        CfiReader data(in.take_bytes(size), 0, width);
        // The letters are fields in the augmentation data, in this order: R: encoding of the pointers in FDEs. S:
        // signal frame. L: encoding of the pointer to language-specific data. P: the personality routine. B: return
        // addresses are signed (AArch64 only).
        for (char letter : augmentation.substr(1)) {
            if (letter == 'R')
                out.pointer_encoding = data.take<uint8_t>();
            else if (letter == 'S')
                out.signal_frame = true;
            else if (letter == 'L')
                data.take<uint8_t>();
            else if (letter == 'P')
                // Only the length of the pointer matters here, so its base can be ignored.
                data.encoded(data.take<uint8_t>() & 0x0f);
            else if (letter != 'B')
                return std::nullopt;
        }
        if (data.failed())
            return std::nullopt;
    } else if (!augmentation.empty()) {
        return std::nullopt;
    }
    if (in.failed() || return_register != cfi::return_address)
        return std::nullopt;
    out.instructions = record.substr(in.position());
    return out;
}

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
    UnwindRow row() { return rules_.compile(state_, *cie_.width, cie_.signal_frame); }
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
        if (number = cie_.width->number(number); number != cfi::no_register)
            state_.places[number] = place;
    }
    // DW_CFA_restore returns to the state after the CIE's instructions, not to the previous one.
    void restore(uint64_t number) {
        if (number = cie_.width->number(number); number != cfi::no_register)
            state_.places[number] = initial_.places[number];
    }
    // `number` is a register number of x86-64.
    void define_cfa(uint64_t number, int64_t offset) {
        state_.cfa_is_expression = false;
        state_.cfa_register = number;
        state_.cfa_offset = offset;
    }

    // Runs instructions until they end or reach the function's end. `rows` is null for those of a CIE. The two high
    // bits of the first byte select a short instruction with a 6-bit operand; 0 selects the others.
    bool run(std::string_view instructions, std::vector<UnwindRow>* rows) {
        CfiReader in(instructions, 0, *cie_.width);
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
    bool extended(uint8_t byte, CfiReader& in, std::vector<UnwindRow>* rows) {
        uint64_t number = 0;
        switch (byte) {
        case 0x00: // DW_CFA_nop
            return true;
        case 0x01: { // DW_CFA_set_loc
            uint64_t to = in.encoded(cie_.pointer_encoding & 0x0f);
            // Compilers do not emit this instruction. A relative pointer would need the instruction's own address.
            if ((cie_.pointer_encoding & 0x70) != 0 || to < at_ || cie_.code_align == 0)
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
            number = cie_.width->number(in.uleb());
            define_cfa(number, static_cast<int64_t>(in.uleb()));
            return true;
        case 0x0d: // DW_CFA_def_cfa_register
            define_cfa(cie_.width->number(in.uleb()), state_.cfa_offset);
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
            number = cie_.width->number(in.uleb());
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

std::vector<CfiFunction> read_cfi(std::string_view section, uint64_t address, CfiKind kind, const CfiWidth& width,
                                  RuleCompiler& rules) {
    // The second field of a record is this id in a CIE. In an FDE, it locates the CIE: in .eh_frame as the distance
    // back from this field, in .debug_frame as an offset in the section.
    const uint32_t cie_id = kind == CfiKind::EhFrame ? 0 : 0xffffffff;
    std::map<size_t, std::optional<Cie>> cies; // by offset in the section
    std::vector<CfiFunction> functions;
    size_t at = 0, total = 0;
    while (section.size() - at >= 4 && total < most_rows) {
        uint32_t length = 0;
        std::memcpy(&length, section.data() + at, sizeof length);
        size_t begin = at + 4;
        if (length == 0) { // a terminator, which the linker may leave between two inputs
            at = begin;
            continue;
        }
        // Extended length is for sections of more than 4 GB. The rest of the section is not read.
        if (length == 0xffffffff || length > section.size() - begin || length < 4)
            break;
        at = begin + length;
        std::string_view record = section.substr(begin, length);
        CfiReader in(record, address + begin, width);
        auto id = in.take<uint32_t>();
        if (id == cie_id) {
            cies[begin - 4] = read_cie(record, address + begin, width);
            continue;
        }
        const size_t place = kind == CfiKind::DebugFrame ? id : id <= begin ? begin - id : SIZE_MAX;
        auto cie = cies.find(place);
        if (cie == cies.end() || !cie->second)
            continue;
        const Cie& common = *cie->second;
        CfiFunction function;
        function.begin = in.encoded(common.pointer_encoding);
        uint64_t size = in.encoded(common.pointer_encoding & 0x0f);
        if (common.sized_augmentation)
            in.take_bytes(in.uleb());
        if (in.failed() || size == 0 || size > ~function.begin)
            continue;
        function.end = function.begin + size;
        Machine(common, function.begin, function.end, rules).compile(record.substr(in.position()), function.rows);
        total += function.rows.size() + 1;
        functions.push_back(std::move(function));
    }
    return functions;
}

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

UnwindRules compile_cfi(std::string_view section, uint64_t address, CfiKind kind, bool is_32_bit) {
    UnwindRules out;
    RuleCompiler rules(out.steps);
    std::vector<CfiFunction> functions;
    add_functions(functions, read_cfi(section, address, kind, is_32_bit ? narrow_cfi : wide_cfi, rules));
    out.rows = join_functions(functions);
    return out;
}

} // namespace sonde
