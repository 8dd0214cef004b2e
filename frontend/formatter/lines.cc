#include "frontend/formatter/lines.h"

#include <algorithm>

#include "frontend/formatter/pieces.h"

namespace sonde {
namespace {

// Deeper code begins here, too: otherwise, 100,000 nested blocks would become gigabytes of blanks.
constexpr size_t max_indent = 400;

} // namespace

void Lines::begin(size_t indent, bool after_empty) {
    Line& line = lines_.emplace_back();
    line.indent = line.column = std::min(indent, max_indent);
    line.after_empty = after_empty;
}

void Lines::add(size_t spaces, std::string_view text) {
    Line& line = lines_.back();
    line.code.append(spaces, ' ');
    line.code += text;
    line.column = column_behind(text, line.column + spaces);
}

void Lines::add_comment(std::string_view text, size_t column, size_t blanks) {
    Line& line = lines_.back();
    line.comment = text;
    line.old_column = column;
    line.old_blanks = blanks;
}

// Returns the end of the lines, from `first` on, that had their comments in one column of the old text.
size_t Lines::end_of_run(size_t first) const {
    size_t end = first + 1;
    while (end < lines_.size() && !lines_[end].comment.empty() && !lines_[end].after_empty &&
           lines_[end].old_column == lines_[first].old_column)
        end++;
    return end;
}

std::string Lines::text(std::string_view newline) const {
    std::string out;
    size_t run_end = 0, comment_column = 0;
    for (size_t i = 0; i < lines_.size() && !is_empty(); i++) {
        const Line& line = lines_[i];
        if (line.after_empty)
            out += newline;
        out.append(line.code.empty() ? 0 : line.indent, ' ');
        out += line.code;
        if (!line.comment.empty() && i >= run_end) {
            run_end = end_of_run(i);
            const bool is_run = run_end > i + 1;
            size_t widest = 0, blanks = is_run ? line.old_blanks : 1;
            for (size_t k = i; k < run_end; k++) {
                widest = std::max(widest, lines_[k].column);
                blanks = std::min(blanks, lines_[k].old_blanks);
            }
            comment_column = widest + std::max<size_t>(blanks, 1);
        }
        if (!line.comment.empty()) {
            out.append(comment_column - line.column, ' ');
            out += line.comment;
        }
        out += newline;
    }
    return out;
}

} // namespace sonde
