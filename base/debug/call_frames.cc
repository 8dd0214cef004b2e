#include "base/debug/call_frames.h"

#include <dwarf.h>

#include <optional>
#include <unordered_map>

namespace sonde {
namespace {

// Reads the data of a CIE's augmentation, whose letters tell its fields (LSB, section 10.6.1.1.1). Returns false for an
// unknown letter.
bool read_augmentation(ByteCursor in, std::string_view letters, int word, Cie& out) {
    for (char letter : letters) {
        if (letter == 'R')
            out.pointers = in.take<uint8_t>();
        else if (letter == 'L')
            out.handlers = in.take<uint8_t>();
        else if (letter == 'P') {
            out.handles = true;
            // Only the length of the pointer matters here, so its base can be ignored.
            take_pointer(in, in.take<uint8_t>() & 0x0f, word);
        } else if (letter == 'S')
            out.is_signal_frame = true;
        else if (letter != 'B') // return addresses are signed (AArch64)
            return false;
    }
    return !in.failed();
}

// Reads a CIE behind its id. Returns nothing if it is not supported.
std::optional<Cie> read_cie(ByteCursor in, int word, bool& is_sized) {
    Cie out;
    auto version = in.take<uint8_t>();
    if (version != 1 && version != 3 && version != 4)
        return std::nullopt;
    std::string_view augmentation = in.string();
    if (version == 4) { // sizes in bytes of an address and of a segment selector
        auto address_size = in.take<uint8_t>(), segment_size = in.take<uint8_t>();
        if (address_size != word || segment_size != 0)
            return std::nullopt;
    }
    out.code_align = in.uleb();
    out.data_align = in.sleb();
    out.return_register = version == 1 ? in.take<uint8_t>() : in.uleb();
    is_sized = augmentation.starts_with('z');
    if (is_sized) {
        ByteCursor data(in.take_bytes(in.uleb()));
        if (!read_augmentation(data, augmentation.substr(1), word, out))
            return std::nullopt;
    } else if (!augmentation.empty()) {
        return std::nullopt;
    }
    out.instructions = in.take_bytes(in.rest());
    return in.failed() ? std::nullopt : std::optional(out);
}

// A walk over the records of one section.
class Walk {
  public:
    Walk(std::string_view section, uint64_t address, CfiKind kind, int word)
        : section_(section), address_(address), kind_(kind), word_(word) {}

    void run(const std::function<bool(const Fde&)>& take) {
        for (size_t at = 0; section_.size() - at >= 4;) {
            std::optional<Record> record = record_at(at);
            if (!record)
                return;
            at = record->end;
            if (record->body.empty() || is_cie(record->id))
                continue;
            const Common* common = common_at(place_of_cie(*record));
            if (common && common->cie && !deliver(*common, record->body, take))
                return;
        }
    }

  private:
    struct Record {
        size_t id_at = 0, end = 0;
        uint32_t id = 0;
        ByteCursor body; // behind the id
    };
    struct Common {
        std::optional<Cie> cie;
        bool is_sized = false; // FDEs have the size of their augmentation
    };

    // In a CIE, the field behind the length is this id. In an FDE, it locates the CIE.
    bool is_cie(uint32_t id) const { return id == (kind_ == CfiKind::EhFrame ? 0 : 0xffffffff); }
    // In .eh_frame, the distance back from the field itself; in .debug_frame, an offset in the section.
    size_t place_of_cie(const Record& record) const {
        if (kind_ == CfiKind::DebugFrame)
            return record.id;
        return record.id <= record.id_at ? record.id_at - record.id : section_.size();
    }

    // Returns the record at an offset; its body is empty if it is a terminator, which the linker may leave between two
    // inputs. Returns nothing if it does not fit. Lengths of 64 bits are for sections of more than 4 GB.
    std::optional<Record> record_at(size_t at) const {
        ByteCursor in(section_, address_);
        in.seek(at);
        const auto length = in.take<uint32_t>();
        if (length == 0 && !in.failed())
            return Record{in.position(), in.position(), 0, ByteCursor("")};
        if (in.failed() || length == 0xffffffff || length < 4 || length > in.rest())
            return std::nullopt;
        Record out{in.position(), in.position() + length, 0,
                   ByteCursor(section_.substr(in.position(), length), address_ + in.position())};
        out.id = out.body.take<uint32_t>();
        return out;
    }

    // Each CIE is read once.
    const Common* common_at(size_t place) {
        auto [entry, fresh] = commons_.try_emplace(place);
        if (fresh)
            if (std::optional<Record> record = record_at(place); record && !record->body.empty() && is_cie(record->id))
                entry->second.cie = read_cie(record->body, word_, entry->second.is_sized);
        return &entry->second;
    }

    bool deliver(const Common& common, ByteCursor in, const std::function<bool(const Fde&)>& take) const {
        const Cie& cie = *common.cie;
        const uint64_t begin = take_pointer(in, cie.pointers, word_);
        const uint64_t size = take_pointer(in, cie.pointers & 0x0f, word_);
        uint64_t handlers = 0;
        if (common.is_sized) {
            const uint64_t length = in.uleb();
            const uint64_t here = in.address();
            ByteCursor data(in.take_bytes(length), here);
            if (length != 0 && cie.handlers != DW_EH_PE_omit)
                handlers = take_pointer(data, cie.handlers, word_);
            if (handlers == here) // a relative 0 means that there is no table
                handlers = 0;
            else if (data.failed() || (handlers != 0 && (cie.handlers & DW_EH_PE_indirect)))
                handlers = UINT64_MAX;
        }
        if (in.failed() || size == 0 || size > ~begin)
            return true;
        return take({cie, begin, begin + size, handlers, in.take_bytes(in.rest())});
    }

    std::string_view section_;
    uint64_t address_;
    CfiKind kind_;
    int word_;
    std::unordered_map<size_t, Common> commons_; // by offset in the section
};

} // namespace

void for_each_fde(std::string_view section, uint64_t address, CfiKind kind, int word,
                  const std::function<bool(const Fde&)>& take) {
    Walk(section, address, kind, word).run(take);
}

uint64_t take_pointer(ByteCursor& in, uint8_t encoding, int word) {
    const uint64_t place = in.address();
    uint64_t value = 0;
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
        value = word == 4 ? in.take<uint32_t>() : in.take<uint64_t>();
        break;
    case DW_EH_PE_uleb128:
        value = in.uleb();
        break;
    case DW_EH_PE_udata2:
        value = in.take<uint16_t>();
        break;
    case DW_EH_PE_udata4:
        value = in.take<uint32_t>();
        break;
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = in.take<uint64_t>();
        break;
    case DW_EH_PE_sleb128:
        value = static_cast<uint64_t>(in.sleb());
        break;
    case DW_EH_PE_sdata2:
        value = static_cast<uint64_t>(int64_t{in.take<int16_t>()});
        break;
    case DW_EH_PE_sdata4:
        value = static_cast<uint64_t>(int64_t{in.take<int32_t>()});
        break;
    default:
        in.fail();
    }
    if ((encoding & 0x70) == DW_EH_PE_pcrel)
        value += place;
    else if ((encoding & 0x70) != DW_EH_PE_absptr)
        in.fail();
    if (in.failed())
        return 0;
    return word == 4 ? static_cast<uint32_t>(value) : value;
}

} // namespace sonde
