// Doc comments: the lines of `//` or `#`, or the one block comment, directly above a declaration. The lexer drops
// comments, so this reads them from the source text.
#include "frontend/parse/doc_comment.h"

#include <algorithm>

namespace sonde {

namespace {

std::string_view trimmed(std::string_view text) {
    size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
    return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

// Returns a comment line without the comment sign and the blank that follows.
std::string comment_text(std::string_view line, std::string_view sign) {
    line.remove_prefix(std::min(sign.size(), line.size()));
    if (line.starts_with(' '))
        line.remove_prefix(1);
    return std::string(line) + "\n";
}

// Returns the text inside a block comment, without the `*` at the beginning of lines.
std::string block_comment_text(std::string_view text) {
    std::string doc;
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        doc += comment_text(line, line.substr(0, std::min(line.find_first_not_of('*'), line.size())));
    }
    size_t begin = std::min(doc.find_first_not_of('\n'), doc.size());
    size_t last = doc.find_last_not_of('\n');
    return last == std::string::npos ? "" : doc.substr(begin, last - begin + 2);
}

} // namespace

// Reads backward from the declaration, line by line. A blank line or code ends the comment. A block comment counts only
// if no `//` line is below it and nothing else is on its first line.
std::string doc_above(std::string_view above) {
    std::string doc;
    size_t line_begin = above.rfind('\n');
    if (line_begin == std::string_view::npos || !trimmed(above.substr(line_begin + 1)).empty())
        return doc;
    above = above.substr(0, line_begin);
    while (true) {
        line_begin = above.rfind('\n') + 1; // npos + 1 is 0
        std::string_view line = trimmed(above.substr(line_begin));
        std::string_view sign = line.starts_with("//") ? "//" : line.starts_with("#") ? "#" : "";
        if (sign.empty()) {
            size_t open = doc.empty() && line.ends_with("*/") ? above.rfind("/*") : std::string_view::npos;
            if (open == std::string_view::npos)
                return doc;
            size_t open_line = above.rfind('\n', open) + 1, close = above.rfind("*/");
            if (close >= open + 2 && trimmed(above.substr(open_line, open - open_line)).empty())
                doc = block_comment_text(above.substr(open + 2, close - open - 2));
            return doc;
        }
        doc.insert(0, comment_text(line, sign));
        if (line_begin == 0)
            return doc;
        above = above.substr(0, line_begin - 1);
    }
}

} // namespace sonde
