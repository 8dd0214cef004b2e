// Reads .eh_frame, the table for stack unwinding and exceptions. It is a sequence of two kinds of entries: a CIE has
// the properties that many functions share, and an FDE has the range of one function and refers to its CIE. Addresses
// are encoded in one of several ways (DW_EH_PE_*), usually relative to the position in the table. If a function catches
// exceptions, its FDE also refers to a table with the landing pads (.gcc_except_table).
#include "frontend/dwarf/unwind_table.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include <dwarf.h>

#include "frontend/dwarf/debug_files.h"
#include "frontend/dwarf/program_file.h"

namespace sonde {
namespace {

// Reads numbers from a section. Beyond its end, numbers are 0 and good() is false.
class Bytes {
  public:
    Bytes(std::string_view bytes, Address address) : bytes_(bytes), address_(address) {}

    bool good() const { return good_; }
    size_t at() const { return at_; }
    void skip_to(size_t at) { at_ = at; }
    template <typename T> T take() {
        T value = 0;
        good_ = good_ && at_ <= bytes_.size() && sizeof value <= bytes_.size() - at_;
        if (good_)
            std::memcpy(&value, &bytes_[at_], sizeof value);
        at_ += sizeof value;
        return value;
    }
    uint64_t leb() {
        uint64_t value = 0;
        for (int shift = 0; good_; shift += 7) {
            auto byte = take<uint8_t>();
            if (shift < 64)
                value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80)
                break;
        }
        return value;
    }
    std::string_view text() {
        size_t end = at_ < bytes_.size() ? bytes_.find('\0', at_) : std::string_view::npos;
        good_ = good_ && end != std::string_view::npos;
        std::string_view out = good_ ? bytes_.substr(at_, end - at_) : std::string_view();
        at_ = good_ ? end + 1 : at_;
        return out;
    }
    // Reads a pointer with that encoding (DW_EH_PE_*). An indirect pointer is not followed.
    uint64_t pointer(uint8_t encoding, bool narrow) {
        uint64_t place = address_ + at_, value = 0;
        switch (encoding & 0x0f) {
        case DW_EH_PE_absptr:
            value = narrow ? take<uint32_t>() : take<uint64_t>();
            break;
        case DW_EH_PE_udata2:
            value = take<uint16_t>();
            break;
        case DW_EH_PE_sdata2:
            value = static_cast<uint64_t>(int64_t{take<int16_t>()});
            break;
        case DW_EH_PE_udata4:
            value = take<uint32_t>();
            break;
        case DW_EH_PE_sdata4:
            value = static_cast<uint64_t>(int64_t{take<int32_t>()});
            break;
        case DW_EH_PE_udata8:
        case DW_EH_PE_sdata8:
            value = take<uint64_t>();
            break;
        default:
            good_ = false;
        }
        value += (encoding & 0x70) == DW_EH_PE_pcrel ? place : 0;
        return narrow ? static_cast<uint32_t>(value) : value;
    }

  private:
    std::string_view bytes_;
    Address address_;
    size_t at_ = 0;
    bool good_ = true;
};

// The properties of FDEs that their CIE defines.
struct Common {
    uint8_t encoding = DW_EH_PE_absptr, handlers = DW_EH_PE_omit;
    bool handles = false; // has a personality routine
};

Common read_common(Bytes bytes, bool narrow) {
    Common out;
    auto version = bytes.take<uint8_t>();
    std::string_view augmentation = bytes.text();
    bytes.leb(); // code alignment factor
    bytes.leb(); // data alignment factor
    if (version == 1)
        bytes.take<uint8_t>();
    else
        bytes.leb(); // return address register
    if (!augmentation.starts_with('z'))
        return out;
    bytes.leb();
    for (char letter : augmentation.substr(1)) {
        if (letter == 'R')
            out.encoding = bytes.take<uint8_t>();
        else if (letter == 'L')
            out.handlers = bytes.take<uint8_t>();
        else if (letter == 'P') {
            out.handles = true;
            auto encoding = bytes.take<uint8_t>();
            bytes.pointer(encoding & 0x0f, narrow);
        }
    }
    return out;
}

} // namespace

// Reads all FDEs. An entry of .eh_frame is a CIE (its second word is 0) or an FDE, whose second word is the distance
// back to its CIE. Many FDEs share a CIE, so each CIE is parsed once.
const std::vector<UnwindEntry>& UnwindTable::entries() {
    if (entries_)
        return *entries_;
    std::vector<UnwindEntry>& out = entries_.emplace();
    const ElfSection* section = file_.elf().find_section(".eh_frame");
    if (!section)
        return out;
    std::string_view data = file_.elf().section_data(".eh_frame");
    std::unordered_map<size_t, Common> commons;
    Bytes bytes(data, section->address);
    while (bytes.at() + 4 <= data.size()) {
        uint64_t length = bytes.take<uint32_t>();
        if (length == UINT32_MAX)
            length = bytes.take<uint64_t>();
        size_t begin = bytes.at();
        if (length == 0) // zeros between the parts of several object files
            continue;
        if (length > data.size() - begin)
            break;
        if (auto back = bytes.take<uint32_t>(); back != 0 && back <= begin) {
            auto [common, fresh] = commons.try_emplace(begin - back);
            if (fresh) {
                Bytes other(data, section->address);
                other.skip_to(begin - back);
                if (other.take<uint32_t>() == UINT32_MAX)
                    other.take<uint64_t>();
                other.take<uint32_t>();
                common->second = read_common(other, file_.is_32_bit());
            }
            uint8_t encoding = common->second.encoding;
            Address low = bytes.pointer(encoding, file_.is_32_bit());
            uint64_t size = bytes.pointer(encoding & 0x0f, file_.is_32_bit());
            const bool found = bytes.good() && size != 0 && file_.is_executable(low);
            Address handlers = 0;
            if (found && common->second.handlers != DW_EH_PE_omit && bytes.leb() != 0) {
                const Address here = section->address + bytes.at();
                handlers = bytes.pointer(common->second.handlers, file_.is_32_bit());
                handlers = handlers == here ? 0 : handlers; // a relative 0 means that there is no table
            }
            if (found)
                out.push_back({low, low + size, common->second.handles, handlers});
        }
        bytes.skip_to(begin + length);
    }
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
    const bool narrow = file_.is_32_bit();
    Bytes bytes(file_.elf().section_data(section->name), section->address);
    bytes.skip_to(entry.handlers - section->address);
    auto base_encoding = bytes.take<uint8_t>();
    const Address base = base_encoding == DW_EH_PE_omit ? entry.low : bytes.pointer(base_encoding, narrow);
    if (bytes.take<uint8_t>() != DW_EH_PE_omit)
        bytes.leb(); // the table of types
    auto encoding = bytes.take<uint8_t>();
    auto number = [&] { return encoding == DW_EH_PE_uleb128 ? bytes.leb() : bytes.pointer(encoding, narrow); };
    const uint64_t size = bytes.leb();
    for (const size_t end = bytes.at() + size; bytes.good() && bytes.at() < end;) {
        number(); // the beginning and length of the calls
        number();
        if (const uint64_t pad = number())
            out.push_back(base + pad);
        bytes.leb(); // the action
    }
    return bytes.good() ? std::optional(std::move(out)) : std::nullopt;
}

// Whether the frame at the entry is as after a call. The CFA must be one word above the stack pointer, with the return
// address in that word. Hand-written code, such as signal trampolines, describes other frames.
bool UnwindTable::is_entered_by_call(Address entry) {
    const int stack = file_.is_32_bit() ? 4 : 7, address_column = file_.is_32_bit() ? 8 : 16;
    const int64_t word = file_.is_32_bit() ? 4 : 8;
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
    if ((any ? static_cast<int>(ops->number) : ops->atom - DW_OP_breg0) != stack ||
        static_cast<int64_t>(any ? ops->number2 : ops->number) != word)
        return false;
    if (dwarf_frame_register(frame.get(), address_column, memory, &ops, &count) != 0)
        return false;
    return ops && count >= 2 && ops[0].atom == DW_OP_call_frame_cfa && static_cast<int64_t>(ops[1].number) == -word;
}

StackAt UnwindTable::stack_at(Address address) {
    const int stack = file_.is_32_bit() ? 4 : 7;
    const int64_t word = file_.is_32_bit() ? 4 : 8;
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
        return count == 1 && base == stack && offset == word ? StackAt::AsCalled : StackAt::InFrame;
    }
    return StackAt::Unknown;
}

// libdw may describe the CFA by any expression. Handlers only support "register plus offset".
std::optional<FrameRule> UnwindTable::frame_rule(Address address) {
    constexpr int rbp = 6, rsp = 7;
    for (Dwarf_CFI* table : {debug_.eh_frame(), debug_.debug_frame()}) {
        Dwarf_Frame* found = nullptr;
        if (!table || dwarf_cfi_addrframe(table, address, &found) != 0)
            continue;
        std::unique_ptr<Dwarf_Frame, decltype(&free)> frame(found, free);
        Dwarf_Op memory[3], *ops = nullptr;
        size_t count = 0;
        if (dwarf_frame_cfa(frame.get(), &ops, &count) != 0 || count != 1)
            return std::nullopt;
        FrameRule rule;
        bool any = ops->atom == DW_OP_bregx;
        rule.cfa_register = any ? static_cast<int>(ops->number) : ops->atom - DW_OP_breg0;
        rule.cfa_offset = static_cast<int64_t>(any ? ops->number2 : ops->number);
        if (rule.cfa_register != rbp && rule.cfa_register != rsp)
            return std::nullopt;
        if (dwarf_frame_register(frame.get(), rbp, memory, &ops, &count) != 0)
            return std::nullopt;
        // libdw expresses "at the CFA plus an offset" by these operations. No operations mean that the register is
        // unchanged.
        if (ops && count >= 1 && ops[0].atom == DW_OP_call_frame_cfa)
            rule.saved_rbp = count >= 2 ? static_cast<int64_t>(ops[1].number) : 0;
        else if (ops && count != 0)
            return std::nullopt;
        return rule;
    }
    return std::nullopt;
}

} // namespace sonde
