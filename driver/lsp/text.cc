// The bytes are UTF-8, as JSON requires. A character above U+FFFF has four bytes, and two code units in UTF-16. All
// other characters have one.
#include "driver/lsp/text.h"

#include <algorithm>
#include <utility>

namespace sonde::lsp {
namespace {

bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }
uint32_t count_units(char first) { return static_cast<unsigned char>(first) >= 0xf0 ? 2 : 1; }

} // namespace

Text::Text(std::string bytes) : bytes_(std::move(bytes)) { find_lines(); }

// Lines end with `\n`, `\r\n` or `\r`.
void Text::find_lines() {
    line_starts_.assign(1, 0);
    for (size_t i = 0; i < bytes_.size(); i++)
        if (bytes_[i] == '\n' || (bytes_[i] == '\r' && (i + 1 == bytes_.size() || bytes_[i + 1] != '\n')))
            line_starts_.push_back(i + 1);
}

size_t Text::offset(Position position) const {
    if (position.line >= line_starts_.size())
        return bytes_.size();
    const size_t next = position.line + 1 < line_starts_.size() ? line_starts_[position.line + 1] : bytes_.size();
    size_t at = line_starts_[position.line];
    for (uint32_t units = 0; at < next && bytes_[at] != '\n' && bytes_[at] != '\r';) {
        units += count_units(bytes_[at]);
        if (units > position.character)
            break;
        for (at++; at < next && is_inside_character(bytes_[at]);)
            at++;
    }
    return at;
}

Position Text::position(size_t offset) const {
    offset = std::min(offset, bytes_.size());
    const auto next = std::ranges::upper_bound(line_starts_, offset);
    Position out{static_cast<uint32_t>(next - line_starts_.begin() - 1), 0};
    for (size_t i = *(next - 1); i < offset; i++)
        if (!is_inside_character(bytes_[i]))
            out.character += count_units(bytes_[i]);
    return out;
}

void Text::replace(size_t begin, size_t end, std::string_view bytes) {
    bytes_.replace(begin, std::max(begin, end) - begin, bytes);
    find_lines();
}

} // namespace sonde::lsp
