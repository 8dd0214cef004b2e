// .eh_frame has an entry for each function (base/debug/call_frames.h). If a function catches exceptions, its entry also
// refers to a table with the landing pads (.gcc_except_table).
#include "frontend/dwarf/unwind_table.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <dwarf.h>

#include "arch/architecture.h"
#include "base/debug/call_frames.h"
#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {
namespace {

int word_of(const ProgramFile& file) { return file.is_32_bit() ? 4 : 8; }

} // namespace

const std::vector<UnwindEntry>& UnwindTable::entries() {
    if (entries_)
        return *entries_;
    std::vector<UnwindEntry>& out = entries_.emplace();
    const ElfSection* section = file_.elf().find_section(".eh_frame");
    if (!section)
        return out;
    for_each_fde(file_.elf().section_data(".eh_frame"), section->address, CfiKind::EhFrame, word_of(file_),
                 [&](const Fde& fde) {
                     if (file_.is_executable(fde.begin))
                         out.push_back({fde.begin, fde.end, fde.cie.handles, fde.handlers});
                     return true;
                 });
    std::sort(out.begin(), out.end(), [](const UnwindEntry& a, const UnwindEntry& b) { return a.low < b.low; });
    return out;
}

const UnwindEntry* UnwindTable::at(Address address) {
    const std::vector<UnwindEntry>& all = entries();
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](Address value, const UnwindEntry& entry) { return value < entry.low; });
    return after != all.begin() && address < std::prev(after)->high ? &*std::prev(after) : nullptr;
}

std::optional<Address> UnwindTable::next_after(Address address) {
    const std::vector<UnwindEntry>& all = entries();
    auto next = std::upper_bound(all.begin(), all.end(), address,
                                 [](Address value, const UnwindEntry& entry) { return value < entry.low; });
    return next == all.end() ? std::nullopt : std::optional(next->low);
}

// Parses the table like the personality routine of the Itanium ABI. Its format is not standardized; the compilers
// define it ("Exception Handling Tables", section 7.4).
std::optional<std::vector<Address>> UnwindTable::landing_pads(const UnwindEntry& entry) {
    std::vector<Address> out;
    const ElfSection* section = entry.handlers ? file_.section_at(entry.handlers) : nullptr;
    if (entry.handlers == 0)
        return out;
    if (!section)
        return std::nullopt;
    const int word = word_of(file_);
    ByteCursor in(file_.elf().section_data(section->name), section->address);
    in.seek(entry.handlers - section->address);
    auto base_encoding = in.take<uint8_t>();
    const Address base = base_encoding == DW_EH_PE_omit ? entry.low : take_pointer(in, base_encoding, word);
    if (in.take<uint8_t>() != DW_EH_PE_omit)
        in.uleb(); // the table of types
    const auto encoding = in.take<uint8_t>();
    const uint64_t size = in.uleb();
    ByteCursor calls(in.take_bytes(size));
    while (!calls.empty()) {
        take_pointer(calls, encoding, word); // the beginning and length of the calls
        take_pointer(calls, encoding, word);
        if (const uint64_t pad = take_pointer(calls, encoding, word))
            out.push_back(base + pad);
        calls.uleb(); // the action
    }
    return in.failed() || calls.failed() ? std::nullopt : std::optional(std::move(out));
}

// Whether the frame at the entry is as after a call. The return address must be in the word below the CFA, at the stack
// pointer, or else in its register. Hand-written code, such as signal trampolines, describes other frames.
bool UnwindTable::is_entered_by_call(Address entry) {
    const UnwindColumns columns = file_.architecture().unwind_columns();
    const int64_t pushed = file_.architecture().registers().call.pushed;
    Dwarf_CFI* table = debug_.eh_frame();
    Dwarf_Frame* found = nullptr;
    if (!table || dwarf_cfi_addrframe(table, entry, &found) != 0)
        return true; // nothing contradicts it
    std::unique_ptr<Dwarf_Frame, decltype(&free)> frame(found, free);
    Dwarf_Op memory[3], *ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_cfa(frame.get(), &ops, &count) != 0 || count != 1)
        return false;
    bool any = ops->atom == DW_OP_bregx;
    if ((any ? static_cast<int>(ops->number) : ops->atom - DW_OP_breg0) != columns.stack_pointer ||
        static_cast<int64_t>(any ? ops->number2 : ops->number) != pushed)
        return false;
    if (dwarf_frame_register(frame.get(), columns.return_address, memory, &ops, &count) != 0)
        return false;
    if (pushed == 0)
        return !ops && count == 0; // the register is unchanged
    return ops && count >= 2 && ops[0].atom == DW_OP_call_frame_cfa && static_cast<int64_t>(ops[1].number) == -pushed;
}

// Compares the rule for the CFA at the address with the rule that holds directly after a call: the stack pointer plus
// the size of a return address on the stack. .eh_frame is asked first, since nearly all programs have it; .debug_frame
// has the rules of code without unwind tables.
StackAt UnwindTable::stack_at(Address address) {
    const int stack = file_.architecture().unwind_columns().stack_pointer;
    const int64_t pushed = file_.architecture().registers().call.pushed;
    for (Dwarf_CFI* table : {debug_.eh_frame(), debug_.debug_frame()}) {
        Dwarf_Frame* found = nullptr;
        if (!table || dwarf_cfi_addrframe(table, address, &found) != 0)
            continue;
        std::unique_ptr<Dwarf_Frame, decltype(&free)> frame(found, free);
        Dwarf_Op* ops = nullptr;
        size_t count = 0;
        if (dwarf_frame_cfa(frame.get(), &ops, &count) != 0 || count == 0)
            return StackAt::Unknown;
        const bool any = ops->atom == DW_OP_bregx;
        const int base = any ? static_cast<int>(ops->number) : ops->atom - DW_OP_breg0;
        const auto offset = static_cast<int64_t>(any ? ops->number2 : ops->number);
        return count == 1 && base == stack && offset == pushed ? StackAt::AsCalled : StackAt::InFrame;
    }
    return StackAt::Unknown;
}

namespace {

// Whether a register has an unchanged value, or is saved at an offset from the CFA, which is then in `offset`.
bool is_saved_at(Dwarf_Frame* frame, int column, std::optional<int64_t>& offset) {
    Dwarf_Op memory[3], *ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_register(frame, column, memory, &ops, &count) != 0)
        return false;
    // libdw expresses "at the CFA plus an offset" by these operations. No operations mean that the register is
    // unchanged.
    if (ops && count >= 1 && ops[0].atom == DW_OP_call_frame_cfa)
        offset = count >= 2 ? static_cast<int64_t>(ops[1].number) : 0;
    else if (ops && count != 0)
        return false;
    // Above the CFA is the caller's frame. Old versions of libdw read a mark of signed return addresses as a rule for
    // many registers.
    return offset.value_or(-1) < 0;
}

} // namespace

// libdw may describe the CFA by any expression. Handlers only support "register plus offset".
std::optional<FrameRule> UnwindTable::frame_rule(Address address) {
    const UnwindColumns columns = file_.architecture().unwind_columns();
    const RegisterFile& registers = file_.architecture().registers();
    for (Dwarf_CFI* table : {debug_.eh_frame(), debug_.debug_frame()}) {
        Dwarf_Frame* found = nullptr;
        if (!table || dwarf_cfi_addrframe(table, address, &found) != 0)
            continue;
        std::unique_ptr<Dwarf_Frame, decltype(&free)> frame(found, free);
        Dwarf_Op* ops = nullptr;
        size_t count = 0;
        if (dwarf_frame_cfa(frame.get(), &ops, &count) != 0 || count != 1)
            return std::nullopt;
        FrameRule rule;
        bool any = ops->atom == DW_OP_bregx;
        rule.cfa_register = any ? static_cast<int>(ops->number) : ops->atom - DW_OP_breg0;
        rule.cfa_offset = static_cast<int64_t>(any ? ops->number2 : ops->number);
        if (rule.cfa_register != registers.frame_pointer && rule.cfa_register != registers.stack_pointer)
            return std::nullopt;
        if (!is_saved_at(frame.get(), columns.frame_pointer, rule.saved_frame_pointer) ||
            !is_saved_at(frame.get(), columns.return_address, rule.saved_return_address) ||
            (!rule.saved_return_address && registers.call.return_register < 0))
            return std::nullopt;
        return rule;
    }
    return std::nullopt;
}

} // namespace sonde
