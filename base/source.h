// Source texts and ranges in them. Every token, AST node, HIR node and message carries a Range.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Index of a text in Sources; 0 means "no source" (built by the compiler itself).
using FileId = uint32_t;

// Half-open byte range [begin, end) in one source text.
struct Range {
    FileId file = 0;
    uint32_t begin = 0;
    uint32_t end = 0;

    bool valid() const { return file != 0; }
    // The smallest range that covers both; both must lie in the same file (otherwise `a` wins). An invalid range covers
    // nothing: the other one is the result.
    static Range join(Range a, Range b);
};

// 1-based line and 1-based column in bytes.
struct LineColumn {
    uint32_t line = 0;
    uint32_t column = 0;
};

// All texts of one translation: the script, -E extras, tapset files. Texts never move once added.
// Offsets past the end count as the end, and file 0 has the name "<built-in>" and no text; any other unknown id is a
// bug.
class Sources {
  public:
    // `name` is what messages show ("<input>" for -e and -). `tapset` marks library code (privileged, quiet warnings).
    FileId add(std::string name, std::string text, bool tapset = false);

    // Ids go from 1 up to this.
    FileId last() const { return static_cast<FileId>(files_.size()); }
    std::string_view name(FileId file) const;
    std::string_view text(FileId file) const;
    bool is_tapset(FileId file) const;
    std::string_view text(Range range) const;
    LineColumn line_column(FileId file, uint32_t offset) const;
    // The line's text without its newline (`\n` or `\r\n`); `line` is 1-based.
    std::string_view line_text(FileId file, uint32_t line) const;
    // "file.stp:3:7", of the range's begin.
    std::string place(Range range) const;

  private:
    struct File {
        std::string name;
        std::string text;
        std::vector<uint32_t> line_starts;
        bool tapset = false;
    };
    const File& file(FileId id) const;
    std::vector<std::unique_ptr<File>> files_;
};

} // namespace sonde
