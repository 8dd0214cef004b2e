// Which addresses are instructions, and which are called: what has to be known before anything is written there.
//
// Even a stripped program says where its functions are: unwinders need it (.eh_frame; System V ABI for x86-64, section
// 4.2.4). Symbols and debug information say it where there are any.
#include <algorithm>
#include <cstring>
#include <memory>

#include <dwarf.h>
#include <fmt/format.h>

#include "frontend/dwarf/reader.h"
#include "frontend/types/code_map.h"

namespace sonde {
namespace {

// Reads numbers of a section on; beyond its end they are 0 and good() is false.
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
    // A pointer of that encoding (DW_EH_PE_*); indirect ones are left as they are.
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

// What a CIE says of its FDEs.
struct Common {
    uint8_t encoding = DW_EH_PE_absptr;
    bool handles = false; // has a personality routine
};

Common read_common(Bytes bytes, bool narrow) {
    Common out;
    auto version = bytes.take<uint8_t>();
    std::string_view augmentation = bytes.text();
    bytes.leb(); // code alignment
    bytes.leb(); // data alignment
    if (version == 1)
        bytes.take<uint8_t>();
    else
        bytes.leb(); // return address column
    if (!augmentation.starts_with('z'))
        return out;
    bytes.leb();
    for (char letter : augmentation.substr(1)) {
        if (letter == 'R')
            out.encoding = bytes.take<uint8_t>();
        else if (letter == 'L')
            bytes.take<uint8_t>();
        else if (letter == 'P') {
            out.handles = true;
            auto encoding = bytes.take<uint8_t>();
            bytes.pointer(encoding & 0x0f, narrow);
        }
    }
    return out;
}

// More code than that is not read for one address.
constexpr Address most_code = 4 << 20;

} // namespace

const std::vector<DwarfReader::UnwindEntry>& DwarfReader::unwind_entries() {
    if (unwind_entries_)
        return *unwind_entries_;
    std::vector<UnwindEntry>& out = unwind_entries_.emplace();
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
            if (bytes.good() && size != 0 && file_.is_executable(low))
                out.push_back({low, low + size, common->second.handles});
        }
        bytes.skip_to(begin + length);
    }
    std::sort(out.begin(), out.end(), [](const UnwindEntry& a, const UnwindEntry& b) { return a.low < b.low; });
    return out;
}

const DwarfReader::UnwindEntry* DwarfReader::unwind_entry_at(Address address) {
    const std::vector<UnwindEntry>& all = unwind_entries();
    auto after = std::upper_bound(all.begin(), all.end(), address,
                                  [](Address value, const UnwindEntry& entry) { return value < entry.low; });
    return after != all.begin() && address < std::prev(after)->high ? &*std::prev(after) : nullptr;
}

std::optional<DwarfReader::Stretch> DwarfReader::stretch_at(Address address) {
    const ElfSection* section = file_.section_at(address);
    if (section && !(section->flags & SHF_EXECINSTR))
        return std::nullopt;
    // Places that data in the code has.
    std::optional<Stretch> found;
    if (const UnwindEntry* entry = unwind_entry_at(address)) {
        found = {entry->low, entry->high, true, {entry->low}};
    } else if (FunctionRef around = enclosing_subprogram(units_.function_at(address))) {
        Dwarf_Die die;
        for (auto [low, high] : die_of(around, &die) ? units_.ranges(die).ranges : decltype(RangeList::ranges)())
            if (address >= low && address < high)
                found = {low, high, true, {low}};
    }
    const std::vector<Symbol>& all = symbols_.all();
    auto after = symbols_.first_after(address);
    for (auto at = after; !found && at != all.begin();) {
        --at;
        bool same = !section || at->address >= section->address;
        if (!same || after == all.begin() || at->address != std::prev(after)->address)
            break;
        if (at->size != 0 && address - at->address < at->size)
            found = {at->address, at->address + at->size, true, {at->address}};
    }
    if (!found && after != all.begin() && std::prev(after)->size == 0 &&
        (!section || std::prev(after)->address >= section->address)) {
        // Hand-written assembler often gives no size: such a symbol reaches up to the next.
        Address high = section ? section->address + section->size : address + max_unsized;
        if (after != all.end())
            high = std::min(high, after->address);
        const std::vector<UnwindEntry>& entries = unwind_entries();
        auto next = std::upper_bound(entries.begin(), entries.end(), address,
                                     [](Address value, const UnwindEntry& entry) { return value < entry.low; });
        if (next != entries.end())
            high = std::min(high, next->low);
        found = {std::prev(after)->address, high, false, {std::prev(after)->address}};
    }
    bool linked =
        section && (section->name.starts_with(".plt") || section->name == ".init" || section->name == ".fini");
    if (!found && linked)
        found = {section->address, section->address + section->size, true, {section->address}};
    if (!found && file_.elf().entry() <= address && address - file_.elf().entry() < max_unsized)
        found = {file_.elf().entry(), address + 16, false, {file_.elf().entry()}};
    if (!found || found->high - found->low > most_code)
        return std::nullopt;
    for (auto at = symbols_.first_from(found->low); at != all.end() && at->address < found->high; ++at)
        found->starts.push_back(at->address);
    if (Unit* unit = units_.unit_at(address)) {
        const std::vector<LineRow>& lines = lines_.rows(*unit);
        for (auto row = lines_.first_from(*unit, found->low); row != lines.end() && row->address < found->high; ++row)
            if (!row->end_sequence)
                found->starts.push_back(row->address);
    }
    return found;
}

InstructionPlace DwarfReader::instruction_at(Address address) {
    InstructionPlace out;
    if (!file_.is_executable(address)) {
        out.why = "no code is there";
        return out;
    }
    std::optional<Stretch> stretch = stretch_at(address);
    const ElfSection* section = file_.section_at(address);
    if ((!stretch && section && !(section->flags & SHF_EXECINSTR)) || symbols_.is_variable(address)) {
        out.why = "data is there";
        return out;
    }
    if (!stretch) {
        out.why = "no function is there that symbols, unwinding entries or debug information know";
        return out;
    }
    out.function = stretch->low;
    if (file_.is_32_bit()) { // whose instructions are not decoded
        std::sort(stretch->starts.begin(), stretch->starts.end());
        auto after = std::upper_bound(stretch->starts.begin(), stretch->starts.end(), address);
        if (after != stretch->starts.begin())
            out.before = *std::prev(after);
        if (out.before != address)
            out.why = "in 32-bit code only the beginnings of functions and source lines are known";
        return out;
    }
    std::string bytes = file_.code(stretch->low, stretch->high);
    CodeMap map(stretch->low, bytes, stretch->starts, stretch->whole);
    out.before = map.start_before(address);
    if (map.is_start(address))
        return out;
    out.inside = map.is_code(address);
    out.why = out.inside ? "it is inside of an instruction" : "nothing shows that an instruction begins there";
    return out;
}

bool DwarfReader::is_entered_by_call(Address entry) {
    const int stack = file_.is_32_bit() ? 4 : 7, address_column = file_.is_32_bit() ? 8 : 16;
    const int64_t word = file_.is_32_bit() ? 4 : 8;
    Dwarf_CFI* table = debug_.eh_frame();
    Dwarf_Frame* found = nullptr;
    if (!table || dwarf_cfi_addrframe(table, entry, &found) != 0)
        return true; // nothing says otherwise
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

} // namespace sonde
