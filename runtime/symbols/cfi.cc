#include "runtime/symbols/cfi.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "runtime/symbols/file_table.h"

namespace sonde {
namespace {

constexpr uint64_t rbp = 6, rsp = 7, return_address = 16; // DWARF numbers of x86-64

// What differs in code of i386.
struct Width {
    int64_t word = 8;
    std::string_view plt_head{"\x77\x08\x80\x00\x3f\x1a", 6}, plt_tail{"\x2a\x33\x24\x22", 4};
    std::string_view frame_pointer{"\x76\x00", 2}; // DW_OP_breg of it, and 0

    // The number that x86-64 has for a register.
    uint64_t number(uint64_t number) const {
        if (word == 8)
            return number;
        return number == 4 ? rsp : number == 5 ? rbp : number == 8 ? return_address : ~number;
    }
};
constexpr Width wide;
constexpr Width narrow{4, {"\x74\x04\x78\x00\x3f\x1a", 6}, {"\x2a\x32\x24\x22", 4}, {"\x75\x00", 2}};

constexpr size_t most_rows = 1 << 24, most_remembered = 64;

// Bytes from the front; beyond the end everything is 0 and failed() is true.
class Reader {
  public:
    Reader(std::string_view bytes, uint64_t address, const Width& width = wide)
        : bytes_(bytes), address_(address), width_(width) {}

    bool failed() const { return failed_; }
    bool empty() const { return failed_ || at_ == bytes_.size(); }
    uint64_t address() const { return address_ + at_; } // of the next byte
    size_t position() const { return at_; }

    template <typename T> T take() {
        T value{};
        if (bytes_.size() - at_ < sizeof value) {
            fail();
            return value;
        }
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto byte = take<uint8_t>();
            if (shift < 64)
                value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (!(byte & 0x80))
                return value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto byte = take<uint8_t>();
            if (shift < 64)
                value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte & 0x80)
                continue;
            if ((byte & 0x40) && shift + 7 < 64)
                value |= ~uint64_t{0} << (shift + 7);
            return static_cast<int64_t>(value);
        }
    }
    std::string_view take_bytes(uint64_t size) {
        if (size > bytes_.size() - at_) {
            fail();
            return {};
        }
        std::string_view out = bytes_.substr(at_, size);
        at_ += size;
        return out;
    }
    std::string_view string() {
        size_t end = bytes_.find('\0', at_);
        if (end == std::string_view::npos) {
            fail();
            return {};
        }
        std::string_view out = bytes_.substr(at_, end - at_);
        at_ = end + 1;
        return out;
    }
    // DW_EH_PE_*: the low half is the format, the high half what it is relative to.
    uint64_t encoded(uint8_t encoding) {
        uint64_t base = address(), value = 0;
        switch (encoding & 0x0f) {
        case 0x00: // an address
        case 0x04:
        case 0x0c:
            value = (encoding & 0x0f) == 0 && width_.word == 4 ? take<uint32_t>() : take<uint64_t>();
            break;
        case 0x01:
            value = uleb();
            break;
        case 0x02:
            value = take<uint16_t>();
            break;
        case 0x03:
            value = take<uint32_t>();
            break;
        case 0x09:
            value = static_cast<uint64_t>(sleb());
            break;
        case 0x0a:
            value = static_cast<uint64_t>(static_cast<int64_t>(take<int16_t>()));
            break;
        case 0x0b:
            value = static_cast<uint64_t>(static_cast<int64_t>(take<int32_t>()));
            break;
        default:
            fail();
        }
        switch (encoding & 0x70) {
        case 0x00:
            return value;
        case 0x10:
            return value + base;
        default:
            fail();
            return 0;
        }
    }

  private:
    void fail() {
        failed_ = true;
        at_ = bytes_.size();
    }
    std::string_view bytes_;
    uint64_t address_;
    const Width& width_;
    size_t at_ = 0;
    bool failed_ = false;
};

struct Cie {
    const Width* width = &wide;
    uint64_t code_align = 1;
    int64_t data_align = 1;
    uint64_t return_register = return_address;
    uint8_t pointer_encoding = 0;
    bool sized_augmentation = false, signal_frame = false;
    std::string_view instructions;
};

struct Place { // of a register that the caller had
    enum Kind : uint8_t { Same, AtCfa, Undefined, Expression, Other } kind = Same;
    int64_t offset = 0;
    std::string_view expression; // gives its address
    bool operator==(const Place&) const = default;
};

// The row of the unwinding table that the instructions build, as far as this follows it.
struct State {
    bool cfa_is_expression = false;
    uint64_t cfa_register = 0;
    int64_t cfa_offset = 0;
    std::string_view cfa_expression;
    Place rbp, return_address;

    Place* of(uint64_t number) {
        return number == sonde::rbp ? &rbp : number == sonde::return_address ? &return_address : nullptr;
    }
};

std::optional<Cie> read_cie(std::string_view record, uint64_t address, const Width& width) {
    Reader in(record, address);
    in.take<uint32_t>(); // its number, 0
    Cie out;
    out.width = &width;
    auto version = in.take<uint8_t>();
    if (version != 1 && version != 3)
        return std::nullopt;
    std::string_view augmentation = in.string();
    out.code_align = in.uleb();
    out.data_align = in.sleb();
    out.return_register = width.number(version == 1 ? in.take<uint8_t>() : in.uleb());
    if (augmentation.starts_with('z')) {
        out.sized_augmentation = true;
        uint64_t size = in.uleb();
        Reader data(in.take_bytes(size), 0, width);
        for (char letter : augmentation.substr(1)) {
            if (letter == 'R')
                out.pointer_encoding = data.take<uint8_t>();
            else if (letter == 'S')
                out.signal_frame = true;
            else if (letter == 'L')
                data.take<uint8_t>();
            else if (letter == 'P')
                // Relative to where it really lies, but only its length matters here.
                data.encoded(data.take<uint8_t>() & 0x0f);
            else if (letter != 'B') // of other machines
                return std::nullopt;
        }
        if (data.failed())
            return std::nullopt;
    } else if (!augmentation.empty()) {
        return std::nullopt;
    }
    if (in.failed() || out.return_register != return_address)
        return std::nullopt;
    out.instructions = record.substr(in.position());
    return out;
}

bool fits(int64_t bytes, int64_t most, const Width& width) {
    return bytes > 0 && bytes % width.word == 0 && bytes / width.word <= most;
}

uint32_t expression_rule(const State& state, const Width& width) {
    std::string_view code = state.cfa_expression;
    // rsp + 8 + ((rip & 15) >= N ? 8 : 0): what linkers write for a procedure linkage table of lazy binding.
    if (code.size() == 11 && code.starts_with(width.plt_head) && code.ends_with(width.plt_tail))
        if (auto from = static_cast<uint8_t>(code[6]); from >= 0x30 && from < 0x40)
            return SONDE_RULE(SONDE_RULE_PLT, from - 0x30u, 0);
    // *(rbp - N): a function that aligns its stack keeps its CFA there, and its caller's rbp where rbp points to.
    Reader in(code, 0);
    if (in.take<uint8_t>() == static_cast<uint8_t>(width.frame_pointer[0])) {
        auto below = static_cast<int64_t>(0 - static_cast<uint64_t>(in.sleb()));
        if (in.take<uint8_t>() == 0x06 && in.empty() && !in.failed() && fits(below, 0x3ffff, width) &&
            state.rbp.kind == Place::Expression && state.rbp.expression == width.frame_pointer)
            return SONDE_RULE(SONDE_RULE_REALIGN, below / width.word, 0);
    }
    return SONDE_RULE_UNKNOWN;
}

uint32_t rule_of(const State& state, const Cie& cie) {
    const Width& width = *cie.width;
    if (cie.signal_frame) // what lies there is known for 64-bit code
        return width.word == 8 ? SONDE_RULE_SIGNAL : SONDE_RULE_UNKNOWN;
    if (state.return_address.kind == Place::Undefined)
        return SONDE_RULE_END;
    if (state.return_address.kind != Place::AtCfa || state.return_address.offset != -width.word)
        return SONDE_RULE_UNKNOWN;
    if (state.cfa_is_expression)
        return expression_rule(state, width);
    int64_t saved = 0;
    if (state.rbp.kind == Place::AtCfa) {
        saved = static_cast<int64_t>(0 - static_cast<uint64_t>(state.rbp.offset));
        if (!fits(saved, 0x3ff, width))
            return SONDE_RULE_UNKNOWN;
    } else if (state.rbp.kind == Place::Expression || state.rbp.kind == Place::Other) {
        return SONDE_RULE_UNKNOWN;
    }
    if (!fits(state.cfa_offset, 0x3ffff, width) || (state.cfa_register != rsp && state.cfa_register != rbp))
        return SONDE_RULE_UNKNOWN;
    return SONDE_RULE(state.cfa_register == rsp ? SONDE_RULE_RSP : SONDE_RULE_RBP, state.cfa_offset / width.word,
                      saved / width.word);
}

// Runs call frame instructions: a function's rows, from `begin` to `end`.
class Machine {
  public:
    Machine(const Cie& cie, uint64_t begin, uint64_t end) : cie_(cie), at_(begin), end_(end) {
        good_ = run(cie.instructions, nullptr);
        initial_ = state_;
    }

    // False if the instructions could not be followed; the rows up to there are right.
    bool compile(std::string_view instructions, std::vector<UnwindRow>& rows) {
        good_ = good_ && run(instructions, &rows);
        add(rows, good_ ? rule_of(state_, cie_) : static_cast<uint32_t>(SONDE_RULE_UNKNOWN));
        return good_;
    }

  private:
    void add(std::vector<UnwindRow>& rows, uint32_t rule) {
        if (at_ >= end_)
            return;
        if (!rows.empty() && rows.back().address == at_)
            rows.back().rule = rule;
        else
            rows.push_back({at_, rule});
    }

    int64_t factored(uint64_t offset) const {
        return static_cast<int64_t>(offset * static_cast<uint64_t>(cie_.data_align));
    }
    void advance(uint64_t delta, std::vector<UnwindRow>* rows) {
        if (!rows)
            return;
        if (delta != 0)
            add(*rows, rule_of(state_, cie_));
        uint64_t moved = delta * cie_.code_align;
        at_ = moved > end_ - at_ ? end_ : at_ + moved;
    }
    void set(uint64_t number, Place place) {
        if (Place* of = state_.of(cie_.width->number(number)))
            *of = place;
    }
    void restore(uint64_t number) {
        number = cie_.width->number(number);
        if (Place* of = state_.of(number))
            *of = *initial_.of(number);
    }
    // `number`: x86-64's.
    void define_cfa(uint64_t number, int64_t offset) {
        state_.cfa_is_expression = false;
        state_.cfa_register = number;
        state_.cfa_offset = offset;
    }

    bool run(std::string_view instructions, std::vector<UnwindRow>* rows) {
        Reader in(instructions, 0, *cie_.width);
        while (!in.empty() && at_ < end_) {
            auto byte = in.take<uint8_t>();
            uint64_t low = byte & 0x3f;
            switch (byte & 0xc0) {
            case 0x40: // DW_CFA_advance_loc
                advance(low, rows);
                continue;
            case 0x80: // DW_CFA_offset
                set(low, {Place::AtCfa, factored(in.uleb()), {}});
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

    bool extended(uint8_t byte, Reader& in, std::vector<UnwindRow>* rows) {
        uint64_t number = 0;
        switch (byte) {
        case 0x00: // DW_CFA_nop
            return true;
        case 0x01: { // DW_CFA_set_loc
            uint64_t to = in.encoded(cie_.pointer_encoding & 0x0f);
            // Compilers do not write it; relative ones would need the place of the instruction.
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
            set(number, {Place::AtCfa, factored(in.uleb()), {}});
            return true;
        case 0x06: // DW_CFA_restore_extended
            restore(in.uleb());
            return true;
        case 0x07: // DW_CFA_undefined
            set(in.uleb(), {Place::Undefined, 0, {}});
            return true;
        case 0x08: // DW_CFA_same_value
            set(in.uleb(), {Place::Same, 0, {}});
            return true;
        case 0x09: // DW_CFA_register
            set(in.uleb(), {Place::Other, 0, {}});
            in.uleb();
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
            set(number, {Place::Expression, 0, in.take_bytes(in.uleb())});
            return true;
        case 0x11: // DW_CFA_offset_extended_sf
            number = in.uleb();
            set(number, {Place::AtCfa, factored(static_cast<uint64_t>(in.sleb())), {}});
            return true;
        case 0x12: // DW_CFA_def_cfa_sf
            number = cie_.width->number(in.uleb());
            define_cfa(number, factored(static_cast<uint64_t>(in.sleb())));
            return true;
        case 0x13: // DW_CFA_def_cfa_offset_sf
            define_cfa(state_.cfa_register, factored(static_cast<uint64_t>(in.sleb())));
            return true;
        case 0x14: // DW_CFA_val_offset
        case 0x15: // DW_CFA_val_offset_sf
            set(in.uleb(), {Place::Other, 0, {}});
            in.uleb();
            return true;
        case 0x16: // DW_CFA_val_expression
            set(in.uleb(), {Place::Other, 0, {}});
            in.take_bytes(in.uleb());
            return true;
        case 0x2e: // DW_CFA_GNU_args_size
            in.uleb();
            return true;
        default:
            return false;
        }
    }

    const Cie& cie_;
    State state_, initial_;
    std::vector<State> remembered_;
    uint64_t at_, end_;
    bool good_ = true;
};

struct Function {
    uint64_t begin = 0, end = 0;
    std::vector<UnwindRow> rows;
};

} // namespace

std::vector<UnwindRow> compile_cfi(std::string_view eh_frame, uint64_t section_address, bool is_32_bit) {
    const Width& width = is_32_bit ? narrow : wide;
    std::map<size_t, std::optional<Cie>> cies; // by where they lie
    std::vector<Function> functions;
    size_t at = 0, total = 0;
    while (eh_frame.size() - at >= 4 && total < most_rows) {
        uint32_t length = 0;
        std::memcpy(&length, eh_frame.data() + at, sizeof length);
        size_t begin = at + 4;
        if (length == 0) { // the end of one object's part
            at = begin;
            continue;
        }
        // The 64-bit form is for objects of more than 4 GB.
        if (length == 0xffffffff || length > eh_frame.size() - begin || length < 4)
            break;
        at = begin + length;
        std::string_view record = eh_frame.substr(begin, length);
        Reader in(record, section_address + begin, width);
        auto id = in.take<uint32_t>();
        if (id == 0) {
            cies[begin - 4] = read_cie(record, section_address + begin, width);
            continue;
        }
        auto cie = id <= begin ? cies.find(begin - id) : cies.end(); // the distance back to it
        if (cie == cies.end() || !cie->second)
            continue;
        const Cie& common = *cie->second;
        Function function;
        function.begin = in.encoded(common.pointer_encoding);
        uint64_t size = in.encoded(common.pointer_encoding & 0x0f);
        if (common.sized_augmentation)
            in.take_bytes(in.uleb());
        if (in.failed() || size == 0 || size > ~function.begin)
            continue;
        function.end = function.begin + size;
        Machine(common, function.begin, function.end).compile(record.substr(in.position()), function.rows);
        total += function.rows.size() + 1;
        functions.push_back(std::move(function));
    }

    std::stable_sort(functions.begin(), functions.end(),
                     [](const Function& a, const Function& b) { return a.begin < b.begin; });
    std::vector<UnwindRow> rows;
    uint64_t covered = 0;
    for (const Function& function : functions) {
        if (!rows.empty() && function.begin < covered)
            continue; // of two that overlap one is wrong
        if (!rows.empty() && function.begin == covered)
            rows.pop_back(); // the gap after the last one is none
        for (const UnwindRow& row : function.rows)
            if (rows.empty() || rows.back().rule != row.rule)
                rows.push_back(row);
        covered = function.end;
        rows.push_back({covered, SONDE_RULE_NONE});
    }
    return rows;
}

std::vector<UnwindRow> rows_of_prologue(uint64_t address, uint64_t size, std::string_view code, bool is_32_bit) {
    constexpr std::string_view endbr64("\xf3\x0f\x1e\xfa"), endbr32("\xf3\x0f\x1e\xfb"), push_rbp("\x55");
    std::string_view moves[] = {"\x48\x89\xe5", "\x48\x8b\xec"}; // two encodings
    if (is_32_bit)
        for (std::string_view& move : moves) // without the prefix
            move.remove_prefix(1);
    code = code.substr(0, size);
    uint64_t known = code.starts_with(endbr64) || code.starts_with(endbr32) ? endbr64.size() : 0;
    std::vector<UnwindRow> rows = {{address, SONDE_RULE(SONDE_RULE_RSP, 1, 0)}};
    bool pushed = code.substr(known).starts_with(push_rbp);
    known++; // no instruction is shorter
    if (pushed) {
        rows.push_back({address + known, SONDE_RULE(SONDE_RULE_RSP, 2, 2)});
        std::string_view next = code.substr(std::min<size_t>(known, code.size()));
        known += next.starts_with(moves[0]) || next.starts_with(moves[1]) ? moves[0].size() : 1;
    }
    if (known < size)
        rows.push_back({address + known, SONDE_RULE_NONE});
    return rows;
}

std::vector<UnwindRow> read_unwind_rows(const ElfFile& file, const std::vector<FunctionSymbol>& functions) {
    std::vector<UnwindRow> rows;
    if (const ElfSection* section = file.find_section(".eh_frame"))
        rows = compile_cfi(file.section_data(".eh_frame"), section->address, file.is_32_bit());
    auto by_address = [](const UnwindRow& a, const UnwindRow& b) { return a.address < b.address; };
    const size_t compiled = rows.size();
    for (const FunctionSymbol& function : functions) {
        auto end = rows.begin() + static_cast<std::ptrdiff_t>(compiled);
        auto next = std::upper_bound(rows.begin(), end, UnwindRow{function.address, 0}, by_address);
        if (next != rows.begin() && (next - 1)->rule != SONDE_RULE_NONE)
            continue;
        char code[16] = {};
        std::optional<uint64_t> offset = file.file_offset(function.address);
        ssize_t got = offset ? pread(file.fd(), code, sizeof code, static_cast<off_t>(*offset)) : 0;
        if (got <= 0)
            continue;
        for (const UnwindRow& row : rows_of_prologue(
                 function.address, function.size, std::string_view(code, static_cast<size_t>(got)), file.is_32_bit()))
            rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), by_address);
    if (file.is_32_bit())
        for (UnwindRow& row : rows)
            row.rule |= SONDE_RULE_NARROW;
    return rows;
}

} // namespace sonde
