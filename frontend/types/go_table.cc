#include "frontend/types/go_table.h"

#include <charconv>
#include <cstring>
#include <optional>

namespace sonde {
namespace {

// What the header's first word says the layout is.
constexpr uint32_t magic_1_16 = 0xfffffffa, magic_1_18 = 0xfffffff0, magic_1_20 = 0xfffffff1;
constexpr size_t header_bytes = 8; // before the first address-sized word

class Table {
  public:
    explicit Table(std::string_view bytes) : bytes_(bytes) {}

    template <typename T> std::optional<T> at(uint64_t offset) const {
        T value;
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof value)
            return std::nullopt;
        memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    // The n-th word of the header; 0 if it is not there.
    uint64_t word(size_t n) const { return at<uint64_t>(header_bytes + 8 * n).value_or(0); }
    // Up to the NUL; empty if there is none.
    std::string_view name(uint64_t offset) const {
        size_t end = offset < bytes_.size() ? bytes_.find('\0', offset) : std::string_view::npos;
        return end == std::string_view::npos ? std::string_view() : bytes_.substr(offset, end - offset);
    }

  private:
    std::string_view bytes_;
};

} // namespace

std::vector<GoFunction> read_go_functions(std::string_view bytes, uint64_t text) {
    Table table(bytes);
    uint32_t magic = table.at<uint32_t>(0).value_or(0);
    constexpr uint8_t pointer_bytes = 8;
    bool counts_from_text = magic == magic_1_18 || magic == magic_1_20;
    if ((magic != magic_1_16 && !counts_from_text) || table.at<uint8_t>(7) != pointer_bytes)
        return {};
    // Words: number of functions, number of files; since 1.18 the code's address; then where the parts begin: names,
    // units, files, lines, functions.
    uint64_t count = table.word(0);
    size_t parts = counts_from_text ? 3 : 2;
    uint64_t names = table.word(parts), functions = table.word(parts + 4);
    uint64_t base = counts_from_text ? table.word(2) : 0;
    if (counts_from_text && base == 0)
        base = text;
    // Each entry is an address (or a distance) and where the function's record is; a last address ends the table.
    size_t field = counts_from_text ? 4 : 8;
    auto number = [&](uint64_t offset) {
        return counts_from_text ? std::optional<uint64_t>(table.at<uint32_t>(offset)) : table.at<uint64_t>(offset);
    };
    std::vector<GoFunction> found;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t entry = functions + i * 2 * field;
        std::optional<uint64_t> address = number(entry), record = number(entry + field),
                                next = number(entry + 2 * field);
        if (!address || !record || !next || *next < *address)
            return {};
        // The record begins with the address again, and where the name is.
        std::optional<int32_t> name = table.at<int32_t>(functions + *record + field);
        if (!name || *name < 0)
            return {};
        std::string_view text_of_name = table.name(names + static_cast<uint64_t>(*name));
        if (!text_of_name.empty())
            found.push_back({text_of_name, base + *address, *next - *address});
    }
    return found;
}

std::optional<int> read_go_version(std::string_view build_info) {
    constexpr std::string_view magic = "\xff Go buildinf:";
    constexpr size_t flags_at = 15, text_at = 32;
    constexpr unsigned char inline_text = 2;
    if (build_info.size() <= text_at || !build_info.starts_with(magic) ||
        !(static_cast<unsigned char>(build_info[flags_at]) & inline_text))
        return std::nullopt;
    // The length, as a number of one byte: versions are short.
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
