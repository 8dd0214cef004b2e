// A text with positions as the protocol counts them: lines, and UTF-16 code units in a line. sonde itself counts bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::lsp {

struct Position {
    uint32_t line = 0, character = 0; // from 0
};

class Text {
  public:
    explicit Text(std::string bytes);

    const std::string& bytes() const { return bytes_; }
    // The offset in bytes. A position after the end of its line means the end of that line, and a line after the last
    // one means the end of the text.
    size_t offset(Position position) const;
    Position position(size_t offset) const;
    // Replaces the bytes [begin, end); an end before the beginning counts as the beginning.
    void replace(size_t begin, size_t end, std::string_view bytes);

  private:
    void find_lines();

    std::string bytes_;
    std::vector<size_t> line_starts_; // the first is 0
};

} // namespace sonde::lsp
