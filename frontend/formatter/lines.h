// The lines of a formatted script.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

class Lines {
  public:
    // Begins a line, which may follow an empty one. The first line of the script needs no call.
    void begin(size_t indent, bool after_empty);
    void add(size_t spaces, std::string_view text);
    // Adds the comment that ends the line. `column` and `blanks`: its column in the old text, and the blanks before
    // the comment there.
    void add_comment(std::string_view text, size_t column, size_t blanks);

    bool is_empty() const { return lines_.size() == 1 && lines_[0].code.empty() && lines_[0].comment.empty(); }
    size_t indent() const { return lines_.back().indent; }
    size_t column() const { return lines_.back().column; } // behind the last text

    // Returns the text. Aligns the comments of consecutive lines if they were aligned in the old text.
    std::string text(std::string_view newline) const;

  private:
    struct Line {
        size_t indent = 0;
        bool after_empty = false;
        std::string code; // without the indentation
        size_t column = 0;
        std::string comment;
        size_t old_column = 0, old_blanks = 0; // of the comment
    };
    size_t end_of_run(size_t first) const;

    std::vector<Line> lines_{Line()};
};

} // namespace sonde
