// Source texts, and ranges in them. Every token, AST node, HIR node and message has a Range.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Index of a text in Sources. 0 means "no source" (created by the compiler itself).
using FileId = uint32_t;

// Half-open byte range [begin, end) in one source text.
struct Range {
    FileId file = 0;
    uint32_t begin = 0;
    uint32_t end = 0;

    bool valid() const { return file != 0; }
    // The smallest range that contains both. If they are in different files, returns `a`. If one is invalid, returns
    // the other one.
    static Range join(Range a, Range b);
};

// Line and column, both counted from 1; columns are in bytes.
struct LineColumn {
    uint32_t line = 0;
    uint32_t column = 0;
};

// All texts of a translation: the script, files of -E, and files of the tapset. Texts never move after they are added.
// Offsets after the end count as the end. File 0 has the name "<built-in>" and no text. Any other unknown id is a bug.
class Sources {
  public:
    // `name`: for messages ("<input>" for -e and -). `tapset`: library code, which is privileged and whose warnings are
    // dropped.
    FileId add(std::string name, std::string text, bool tapset = false);

    // The largest id; ids begin at 1.
    FileId last() const { return static_cast<FileId>(files_.size()); }
    // The name and the text of a file. Both are valid as long as this object.
    std::string_view name(FileId file) const;
    std::string_view text(FileId file) const;
    bool is_tapset(FileId file) const;
    // The text of a range; empty for an invalid range.
    std::string_view text(Range range) const;
    // The line and column of an offset; {0, 0} for file 0.
    LineColumn line_column(FileId file, uint32_t offset) const;
    // The line's text without its newline (`\n` or `\r\n`). `line` counts from 1.
    std::string_view line_text(FileId file, uint32_t line) const;
    // For example "file.stp:3:7", for the range's beginning.
    std::string place(Range range) const;

    // A word of the command line of a tool, such as FORMAT, which stands for `$number` in the script of the tool. The
    // user knows the word and not the script, so messages show it instead of the script's line.
    struct Word {
        std::string name, text;
    };
    void add_word(FileId file, size_t number, Word word);
    // The word for which the range stands; null for all other ranges.
    const Word* word_at(Range range) const;

  private:
    struct File {
        std::string name;
        std::string text;
        std::vector<uint32_t> line_starts;
        bool tapset = false;
        std::map<std::string, Word, std::less<>> words; // by `$2`
    };
    const File& file(FileId id) const;
    std::vector<std::unique_ptr<File>> files_;
};

} // namespace sonde
