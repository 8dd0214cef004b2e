// The page is docs/reference.md, in Markdown: code stands between backquotes, and a row of a table begins with `|`.
// Users ask for names of the language, and these names are also English words (`next`, `if`). A sentence therefore
// counts only if the word is in its code.
#include "driver/reference.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <fmt/format.h>

namespace sonde {
namespace {

bool is_part(char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)) != 0; }

bool has_word(std::string_view text, std::string_view word) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at++) {
        const size_t end = at + word.size();
        if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end])))
            return true;
    }
    return false;
}

// Returns whether the code in a line contains the word.
bool is_about(std::string_view line, std::string_view word) {
    for (size_t begin = 0; (begin = line.find('`', begin)) != std::string_view::npos;) {
        const size_t end = line.find('`', begin + 1);
        if (end == std::string_view::npos)
            return false;
        const std::string_view code = line.substr(begin + 1, end - begin - 1);
        if (has_word(code, word) || code.starts_with(fmt::format("-D{}", word)))
            return true;
        begin = end + 1;
    }
    return false;
}

// Removes the Markdown: backquotes, stars, the address of a link.
std::string plain_text(std::string_view text) {
    std::string out;
    bool code = false;
    for (size_t i = 0; i < text.size(); i++) {
        const std::string_view rest = text.substr(i);
        if (rest[0] == '`')
            code = !code;
        else if (rest.starts_with("\\|"))
            out += '|', i++;
        else if (!code && rest.starts_with("]("))
            i += std::min(rest.find(')'), rest.size() - 1);
        else if (!code && (rest.starts_with("**") || rest[0] == '['))
            i += rest[0] == '*' ? 1 : 0;
        else
            out += rest[0];
    }
    const size_t begin = out.find_first_not_of(' ');
    return begin == std::string::npos ? "" : out.substr(begin, out.find_last_not_of(' ') + 1 - begin);
}

// Prints the first cell of `| name | description |` in a separate column.
std::string row_text(std::string_view row) {
    size_t middle = 1;
    while (middle < row.size() && (row[middle] != '|' || row[middle - 1] == '\\'))
        middle++;
    const std::string what = plain_text(row.substr(1, middle - 1));
    std::string_view rest = row.substr(std::min(middle + 1, row.size()));
    if (const size_t last = rest.rfind('|'); last != std::string_view::npos)
        rest = rest.substr(0, last);
    const std::string is = plain_text(rest);
    return is.empty() ? what : fmt::format("{:<44} # {}", what, is);
}

// Adds the sentences of a paragraph that are about the word.
void add_sentences(std::string_view paragraph, std::string_view word, std::vector<std::string>& out) {
    while (!paragraph.empty()) {
        bool code = false;
        size_t end = 0;
        for (; end < paragraph.size(); end++) {
            code ^= paragraph[end] == '`';
            const std::string_view next = paragraph.substr(end + 1);
            if (!code && std::string_view(".;:").find(paragraph[end]) != std::string_view::npos &&
                (next.empty() || next[0] == ' '))
                break;
        }
        if (is_about(paragraph.substr(0, end), word))
            out.push_back(plain_text(paragraph.substr(0, end)));
        paragraph.remove_prefix(std::min(paragraph.size(), end + 1));
    }
}

} // namespace

std::vector<std::string> find_in_reference(std::string_view page, std::string_view word) {
    std::vector<std::string> out;
    std::string paragraph;
    bool session = false; // examples and their output
    while (true) {
        const std::string_view line = page.substr(0, page.find('\n'));
        const bool fence = line.starts_with("```"), row = line.starts_with('|');
        session ^= fence;
        if (session || fence || row || line.empty() || line[0] == '#' || line[0] == '<') {
            add_sentences(paragraph, word, out);
            paragraph.clear();
        } else {
            paragraph += fmt::format("{}{}", paragraph.empty() ? "" : " ", line);
        }
        if (row && !session && is_about(line, word))
            out.push_back(row_text(line));
        if (page.empty())
            return out;
        page.remove_prefix(std::min(page.size(), line.size() + 1));
    }
}

} // namespace sonde
