// Languages with braces: comments and texts are blanked out, and then each `{` is judged by the code between it and the
// `;`, `{` or `}` before it:
//
//     static int price(struct order *o) {      a function: a name before a parenthesis, not in a function
//     struct item items[] = {                  no function: it has no parenthesis
//     if (left < 3) {                          no function: it is inside one
//     class Cart : public Base<int(int)> {     may contain functions: begins with a word of `containers`
//     fn total(&self) -> u64 {                 a function of Rust or Go: the word `fn` or `func`
//
// Python: `def` at the beginning of a line.
#include "driver/lsp/source_functions.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace sonde::lsp {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Replaces comments, texts and lines of the preprocessor by blanks. Newlines stay.
std::string blank_out(std::string_view text, SourceLanguage language) {
    std::string out(text);
    const auto blank = [&](size_t begin, size_t end) {
        for (size_t i = begin; i < std::min(end, out.size()); i++)
            if (out[i] != '\n')
                out[i] = ' ';
    };
    bool begins_line = true;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        size_t end = at + 1;
        if (text.substr(at, 2) == "//" || (begins_line && c == '#' && language == SourceLanguage::C)) {
            end = at;
            do // a backslash continues the line
                end = text.find('\n', end + 1);
            while (end != std::string_view::npos && text[end - 1] == '\\');
            end = std::min(end, text.size());
            blank(at, end);
        } else if (text.substr(at, 2) == "/*") {
            end = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
            blank(at, end);
        } else if (c == '`' && language == SourceLanguage::Go) {
            end = std::min(text.find('`', at + 1), text.size() - 1) + 1;
            blank(at, end);
        } else if (text.substr(at, 3) == "R\"(" && language == SourceLanguage::C) {
            end = std::min(text.find(")\"", at), text.size() - 2) + 2;
            blank(at, end);
        } else if (c == '"' || c == '\'') {
            while (end < text.size() && text[end] != c && (text[end] != '\n' || c == '"'))
                end += text[end] == '\\' ? 2 : 1;
            // In Rust, 'a without an end is a lifetime; in C++, 1'000 is a number.
            const bool is_text = c == '"' || (end < text.size() && text[end] == c && end - at <= 12);
            end = is_text ? std::min(end + 1, text.size()) : at + 1;
            blank(at, end);
        }
        for (size_t i = at; i < end; i++)
            begins_line = text[i] == '\n' || (begins_line && std::isspace(static_cast<unsigned char>(text[i])));
        at = end;
    }
    return out;
}

std::vector<std::string_view> words_of(std::string_view code) {
    std::vector<std::string_view> out;
    for (size_t at = 0; at < code.size();) {
        if (!is_word(code[at])) {
            at++;
            continue;
        }
        const size_t begin = at;
        while (at < code.size() && is_word(code[at]))
            at++;
        out.push_back(code.substr(begin, at - begin));
    }
    return out;
}

// Words of blocks that contain functions.
constexpr std::array<std::string_view, 8> containers = {"namespace", "class", "struct", "union",
                                                        "extern",    "impl",  "trait",  "mod"};

bool has_word(const std::vector<std::string_view>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// Whether a C++ class with base classes begins: `class Cart : public Base<int(int)>`.
bool has_bases(std::string_view code, const std::vector<std::string_view>& words) {
    const size_t colon = code.find(':');
    return colon < code.find('(') && code.substr(colon, 2) != "::" && (words[0] == "class" || words[0] == "struct");
}

// Returns where the function's name is in the code before `{`; npos: it begins no function.
size_t find_name(std::string_view code, SourceLanguage language) {
    const std::vector<std::string_view> words = words_of(code);
    if (language != SourceLanguage::C) {
        const std::string_view keyword = language == SourceLanguage::Rust ? "fn" : "func";
        const auto found = std::ranges::find(words, keyword);
        return found == words.end() ? std::string_view::npos : static_cast<size_t>(found->data() - code.data());
    }
    const size_t open = code.find('(');
    const size_t end = open == std::string_view::npos ? open : code.find_last_not_of(" \t\n", open - (open > 0));
    if (open == 0 || end == std::string_view::npos || !is_word(code[end]) || code.find('=') < open ||
        has_bases(code, words))
        return std::string_view::npos;
    size_t begin = end;
    while (begin > 0 && is_word(code[begin - 1]))
        begin--;
    return begin;
}

std::vector<SourceFunction> find_braced(std::string_view text, SourceLanguage language) {
    const std::string code = blank_out(text, language);
    std::vector<SourceFunction> out;
    std::vector<size_t> ends; // of lines
    for (size_t at = 0; (at = code.find('\n', at)) != std::string::npos; at++)
        ends.push_back(at);
    const auto line_at = [&](size_t at) {
        return static_cast<uint32_t>(std::ranges::lower_bound(ends, at) - ends.begin());
    };
    size_t head = 0; // where the code before the next brace begins
    int inside = 0;  // braces of functions and of other blocks that contain no functions
    std::vector<bool> is_container;
    for (size_t at = 0; at < code.size(); at++) {
        const char c = code[at];
        if (c == '}') {
            if (!is_container.empty()) {
                inside -= !is_container.back();
                is_container.pop_back();
            }
        } else if (c == '{') {
            const std::string_view before = std::string_view(code).substr(head, at - head);
            const std::vector<std::string_view> words = words_of(before);
            const size_t name = inside == 0 ? find_name(before, language) : std::string_view::npos;
            const bool is_function = name != std::string_view::npos;
            if (is_function) { // comments are blank in `code`, so this is the first statement
                const size_t first = code.find_first_not_of(" \t\n", at + 1);
                out.push_back({line_at(head + name), line_at(first == std::string::npos ? at : first)});
            }
            is_container.push_back(!is_function && std::ranges::any_of(containers, [&](std::string_view word) {
                return has_word(words, word);
            }));
            inside += !is_container.back();
        }
        if (c == ';' || c == '{' || c == '}')
            head = at + 1;
    }
    return out;
}

std::vector<SourceFunction> find_in_python(std::string_view text) {
    std::vector<SourceFunction> out;
    uint32_t line = 0;
    bool in_text = false; // between """ and """
    for (size_t at = 0; at <= text.size(); line++) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view one = text.substr(at, end - at);
        const bool begins_in_text = in_text;
        for (size_t quote = 0; (quote = one.find("\"\"\"", quote)) != std::string_view::npos; quote += 3)
            in_text = !in_text;
        one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
        if (one.starts_with("async "))
            one.remove_prefix(6);
        if (!begins_in_text && one.starts_with("def "))
            out.push_back({line, line});
        at = end + 1;
    }
    return out;
}

} // namespace

SourceLanguage language_of_file(std::string_view name) {
    const size_t dot = name.rfind('.');
    const std::string_view ending = dot == std::string_view::npos ? "" : name.substr(dot + 1);
    for (const std::string_view one : {"c", "h", "cc", "cpp", "cxx", "c++", "C", "hh", "hpp", "hxx"})
        if (ending == one)
            return SourceLanguage::C;
    return ending == "rs"   ? SourceLanguage::Rust
           : ending == "go" ? SourceLanguage::Go
           : ending == "py" ? SourceLanguage::Python
                            : SourceLanguage::Unknown;
}

std::vector<SourceFunction> find_functions(std::string_view text, SourceLanguage language) {
    if (language == SourceLanguage::Unknown)
        return {};
    return language == SourceLanguage::Python ? find_in_python(text) : find_braced(text, language);
}

} // namespace sonde::lsp
