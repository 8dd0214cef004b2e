// Reads Go's table of functions (pclntab).
//
// The layout, since 1.18:
//
//     header       magic, unit of lengths in lists, size of a pointer, number of functions, address of .text, offsets
//                  of the parts
//     names        strings, each ending with a NUL
//     numbers      lists by address: line, height of the stack, and others
//     functions    pairs: address relative to .text, offset of the function's record
//
// A list consists of pairs of differences: to the last number, and to the last address, in units of the shortest
// instruction (arm64: 4 bytes). Both are unsigned numbers of 7 bits per byte. The sign of the first is in its lowest
// bit (zigzag). For example, a function on x86-64 that moves the stack pointer by 24 bytes after 4 bytes of code:
//
//     bytes 02 04    +1 from -1: height 0 for 4 bytes
//     bytes 30 ..    +24: height 24 for the rest
//
// Everything is checked against the table's size, since the program may belong to any user. If the list of functions is
// damaged, the whole result is empty: a partial table would give wrong names.
#include "base/go_table.h"

#include <charconv>
#include <optional>

#include "base/byte_cursor.h"

namespace sonde {
namespace {

// Values of the header's first word, which identifies the layout.
constexpr uint32_t magic_1_16 = 0xfffffffa, magic_1_18 = 0xfffffff0, magic_1_20 = 0xfffffff1;
constexpr size_t header_bytes = 8; // before the first address-sized word

class Table {
  public:
    explicit Table(std::string_view bytes) : bytes_(bytes) {}

    template <typename T> std::optional<T> at(uint64_t offset) const { return value_at<T>(bytes_, offset); }
    // The n-th word of the header; 0 if it does not exist.
    uint64_t word(size_t n) const { return at<uint64_t>(header_bytes + 8 * n).value_or(0); }
    // A string up to its NUL; empty if there is no NUL.
    std::string_view name(uint64_t offset) const {
        size_t end = offset < bytes_.size() ? bytes_.find('\0', offset) : std::string_view::npos;
        return end == std::string_view::npos ? std::string_view() : bytes_.substr(offset, end - offset);
    }

  private:
    std::string_view bytes_;
};

} // namespace

namespace {

// The parts of the table.
class Parts {
  public:
    Parts(std::string_view bytes, uint64_t text) : table(bytes) {
        magic_ = table.at<uint32_t>(0).value_or(0);
        constexpr uint8_t pointer_bytes = 8;
        counts_from_text_ = magic_ == magic_1_18 || magic_ == magic_1_20;
        unit = table.at<uint8_t>(6).value_or(0);
        good_ = (magic_ == magic_1_16 || counts_from_text_) && (unit == 1 || unit == 2 || unit == 4) &&
                table.at<uint8_t>(7) == pointer_bytes;
        // Words of the header: number of functions, number of files, since 1.18 the code's address, and then the
        // offsets of the parts. These are: names, units, files, lines and other numbers by address, functions.
        size_t parts = counts_from_text_ ? 3 : 2;
        count = good_ ? table.word(0) : 0;
        names = table.word(parts);
        numbers = table.word(parts + 3);
        functions_ = table.word(parts + 4);
        base_ = counts_from_text_ ? table.word(2) : 0;
        if (counts_from_text_ && base_ == 0)
            base_ = text;
    }

    struct Function {
        uint64_t address = 0, size = 0;
        uint64_t record = 0; // offset of a record with more data, after its address
    };
    // Each entry is an address (or a distance) and the offset of the function's record. A last address ends the table.
    std::optional<Function> function(uint64_t i) const {
        uint64_t field = field_size(), entry = functions_ + i * 2 * field;
        std::optional<uint64_t> address = number(entry), record = number(entry + field),
                                next = number(entry + 2 * field);
        if (!address || !record || !next || *next < *address)
            return std::nullopt;
        return Function{base_ + *address, *next - *address, functions_ + *record + field};
    }
    bool has_line_of_function() const { return magic_ == magic_1_20; } // field in a record

    Table table;
    uint64_t count = 0, names = 0, numbers = 0; // number of functions; offsets of these parts
    uint64_t unit = 0;                          // of lengths in lists, in bytes

  private:
    size_t field_size() const { return counts_from_text_ ? 4 : 8; }
    std::optional<uint64_t> number(uint64_t offset) const {
        return counts_from_text_ ? std::optional<uint64_t>(table.at<uint32_t>(offset)) : table.at<uint64_t>(offset);
    }
    uint32_t magic_ = 0;
    bool counts_from_text_ = false, good_ = false;
    uint64_t functions_ = 0, base_ = 0;
};

// Reads the frame's heights from a list of pairs: the differences to the previous height and to the previous address,
// up to a difference of 0. The first height is a difference to -1. The list can end before the next function, because
// the linker pads functions; so does the frame then. A damaged list leaves no heights.
void read_heights(const Parts& parts, uint64_t at, GoFrame& frame) {
    auto take = [&]() -> std::optional<uint32_t> {
        uint32_t value = 0;
        for (unsigned shift = 0; shift < 32; shift += 7) {
            std::optional<uint8_t> byte = parts.table.at<uint8_t>(at++);
            if (!byte)
                return std::nullopt;
            value |= static_cast<uint32_t>(*byte & 0x7f) << shift;
            if (*byte < 0x80)
                return value;
        }
        return std::nullopt;
    };
    uint64_t address = frame.address;
    for (int64_t value = -1; address < frame.end;) {
        std::optional<uint32_t> change = take();
        if (change == 0u && !frame.heights.empty()) {
            frame.end = address;
            return;
        }
        std::optional<uint32_t> length = change ? take() : std::nullopt;
        if (!length || *length == 0) {
            frame.heights.clear();
            return;
        }
        value += (*change & 1) ? -static_cast<int64_t>(*change >> 1) - 1 : static_cast<int64_t>(*change >> 1);
        frame.heights.push_back({address, value});
        address += *length * parts.unit;
    }
}

} // namespace

std::vector<GoFunction> read_go_functions(std::string_view bytes, uint64_t text) {
    Parts parts(bytes, text);
    std::vector<GoFunction> found;
    for (uint64_t i = 0; i < parts.count; i++) {
        std::optional<Parts::Function> function = parts.function(i);
        if (!function)
            return {};
        // The record begins with the address again, followed by the name's offset.
        std::optional<int32_t> name = parts.table.at<int32_t>(function->record);
        if (!name || *name < 0)
            return {};
        std::string_view text_of_name = parts.table.name(parts.names + static_cast<uint64_t>(*name));
        if (!text_of_name.empty())
            found.push_back({text_of_name, function->address, function->size});
    }
    return found;
}

std::vector<GoFrame> read_go_frames(std::string_view bytes, uint64_t text) {
    // Fields of a record after the address (type _func of Go's runtime): the name, the size of arguments, the offset of
    // a deferred return, the list of stack heights, and others. Offsets are in bytes from the name on; since 1.20 there
    // are 4 more bytes before the flags.
    constexpr uint64_t heights_at = 12, flags_at = 33;
    constexpr uint8_t outermost = 1, moves_stack = 2;
    Parts parts(bytes, text);
    std::vector<GoFrame> out;
    for (uint64_t i = 0; i < parts.count; i++) {
        std::optional<Parts::Function> function = parts.function(i);
        if (!function)
            return {};
        std::optional<uint32_t> list = parts.table.at<uint32_t>(function->record + heights_at);
        std::optional<uint8_t> flags =
            parts.table.at<uint8_t>(function->record + flags_at + (parts.has_line_of_function() ? 4 : 0));
        GoFrame frame{function->address, function->address + function->size, {}, false, false};
        if (list && *list != 0)
            read_heights(parts, parts.numbers + *list, frame);
        frame.outermost = flags.value_or(0) & outermost;
        frame.moves_stack = flags.value_or(0) & moves_stack;
        if (function->size != 0)
            out.push_back(std::move(frame));
    }
    return out;
}

std::optional<int> read_go_version(std::string_view build_info) {
    constexpr std::string_view magic = "\xff Go buildinf:";
    constexpr size_t flags_at = 15, text_at = 32;
    constexpr unsigned char inline_text = 2;
    if (build_info.size() <= text_at || !build_info.starts_with(magic) ||
        !(static_cast<unsigned char>(build_info[flags_at]) & inline_text))
        return std::nullopt;
    // The length is a number of one byte, because versions are short.
    size_t length = static_cast<unsigned char>(build_info[text_at]);
    std::string_view text = build_info.substr(text_at + 1, length);
    constexpr std::string_view major = "go1."; // after "devel " in builds between releases
    size_t at = text.find(major);
    if (length > 127 || at == std::string_view::npos)
        return std::nullopt;
    int version = 0;
    const char* digits = text.data() + at + major.size();
    return std::from_chars(digits, text.data() + text.size(), version).ec == std::errc() ? std::optional(version)
                                                                                         : std::nullopt;
}

std::optional<GoLayout> go_layout(int version) {
    constexpr int first = 18, last = 27;
    if (version < first || version > last)
        return std::nullopt;
    return GoLayout{.goid = version == 23 || version == 24 ? 160u : 152u, .m = 48, .curg = version < 25 ? 192u : 184u};
}

} // namespace sonde
