// The lexer. re2c compiles the rules. The text ends with a NUL, which serves as the sentinel; a NUL inside the text is
// a bad character.
//
// A script argument `$N` is pasted as characters, not as a token: with the argument `foo`, `$1_bar` becomes the name
// `foo_bar`. For this a second Lexer reads the argument's text together with the name characters that follow the `$N`.
// All its tokens get the position of the `$N`.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "frontend/lex/token.h"

namespace sonde {
namespace {

// clang-format off
/*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = cursor;
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;

    blank = [ \t\r\n\f\v]+;
    word = [A-Za-z_] [A-Za-z0-9_$]*;
    target = "$" ([A-Za-z_$] [A-Za-z0-9_$]*)? | "@" [A-Za-z_] [A-Za-z0-9_$]*;
    digits = [0-9] [0-9A-Za-z]*;
    keyword = "probe" | "global" | "private" | "function" | "if" | "else" | "for" | "foreach" | "in" | "limit"
            | "return" | "delete" | "while" | "break" | "continue" | "next" | "string" | "long" | "try" | "catch";
    operator = "<<<" | ">>>" | "<<=" | ">>=" | "**"
             | "==" | "!=" | "<=" | ">=" | "=~" | "!~" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "^=" | "|=" | ".="
             | "&&" | "||" | "++" | "--" | "->" | "<<" | ">>" | "%(" | "%?" | "%:" | "%)"
             | [-+*/%&|^!~<>=.,;:?(){}\x5b\x5d];
    plain_string = ["] [^"\\\n\x00]* ["];
*/
// clang-format on

// Reads an escape sequence; `at` points to the character after the backslash and must not be at the end.
char read_escape(const unsigned char*& at, const unsigned char* end, bool hex_escapes = true) {
    unsigned char c = *at++;
    switch (c) {
    case 'a':
        return '\a';
    case 'b':
        return '\b';
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'v':
        return '\v';
    case 'f':
        return '\f';
    case 'r':
        return '\r';
    default:
        break;
    }
    if (c == 'x' && hex_escapes && at < end && std::isxdigit(*at)) {
        int value = 0;
        for (int i = 0; i < 2 && at < end && std::isxdigit(*at); i++, at++)
            value = value * 16 + (std::isdigit(*at) ? *at - '0' : (*at | 32) - 'a' + 10);
        return static_cast<char>(value);
    }
    if (c < '0' || c > '7')
        return static_cast<char>(c);
    int value = c - '0';
    for (int i = 0; i < 2 && at < end && *at >= '0' && *at <= '7'; i++)
        value = value * 8 + (*at++ - '0');
    return static_cast<char>(value);
}

// Returns the number of bytes of the UTF-8 character at `at`, or 0 if the bytes are not valid UTF-8.
size_t utf8_length(const unsigned char* at, const unsigned char* end) {
    size_t length = *at >= 0xf0 && *at < 0xf8 ? 4 : *at >= 0xe0 ? 3 : *at >= 0xc2 ? 2 : 0;
    if (*at >= 0xf8 || static_cast<size_t>(end - at) < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

class Lexer {
  public:
    Lexer(FileId file, std::string_view text, const std::vector<std::string>& args, Diagnostics& diags,
          bool hex_escapes, bool as_written = false)
        : file_(file), args_(args), diags_(diags), hex_escapes_(hex_escapes), as_written_(as_written), text_(text),
          begin_(reinterpret_cast<const unsigned char*>(text.data())), end_(begin_ + text.size()), cursor_(begin_) {}

    std::vector<Token> run() {
        while (next()) {
        }
        return std::move(tokens_);
    }

    Range end_range() const { return range(end_, end_); }

  private:
    // Creates a lexer for the text of argument `number`, which the script uses at `place`.
    Lexer(const Lexer& script, std::string_view text, Range place, uint16_t number)
        : Lexer(script.file_, text, script.args_, script.diags_, script.hex_escapes_) {
        place_ = place;
        argument_ = number;
    }

    Range range(const unsigned char* from, const unsigned char* to) const {
        if (argument_)
            return place_;
        return {file_, static_cast<uint32_t>(from - begin_), static_cast<uint32_t>(to - begin_)};
    }

    Token& add(TokenKind kind, const unsigned char* from, std::string text) {
        Token& token = tokens_.emplace_back();
        token.kind = kind;
        token.glued = last_end_ == from;
        token.on_line = newline_;
        token.argument = argument_;
        token.range = range(from, cursor_);
        token.text = std::move(text);
        last_end_ = cursor_;
        newline_ = false;
        return token;
    }

    // Adds a string literal. Adjacent literals become one token, except in a text as written.
    void add_string(const unsigned char* start, std::string value) {
        if (!as_written_ && !tokens_.empty() && tokens_.back().kind == TokenKind::String) {
            tokens_.back().text += value;
            tokens_.back().range = Range::join(tokens_.back().range, range(start, cursor_));
            last_end_ = cursor_;
            return;
        }
        add(TokenKind::String, start, std::move(value));
    }

    std::string spelled(const unsigned char* from) const { return {from, cursor_}; }

    // Reads one token, comment or blank. Returns false at the end.
    bool next() {
        const unsigned char* start = cursor_;
        const unsigned char* cursor = cursor_;
        const unsigned char* marker = nullptr;
        // clang-format off
        /*!re2c
            blank        { cursor_ = cursor; return blank(start); }
            "//" | "#"   { return line_comment(start); }
            "/*"         { cursor_ = cursor; return block_comment(start); }
            "%{"         { cursor_ = cursor; return embedded(start); }
            keyword      { cursor_ = cursor; add(TokenKind::Keyword, start, spelled(start)); return true; }
            word         { cursor_ = cursor; add(TokenKind::Identifier, start, spelled(start)); return true; }
            [$@] "#"     { cursor_ = cursor; return argument_count(start); }
            [$@] [0-9]+  { cursor_ = cursor; return argument(start); }
            target       { cursor_ = cursor; add(TokenKind::Identifier, start, spelled(start)); return true; }
            digits       { cursor_ = cursor; return number(start); }
            plain_string { cursor_ = cursor; add_string(start, {start + 1, cursor - 1}); return true; }
            ["]          { cursor_ = cursor; return string(start); }
            operator     { cursor_ = cursor; add(TokenKind::Operator, start, spelled(start)); return true; }
            "\x00"       { if (start == end_) return false; cursor_ = cursor; return bad(start); }
            *            { cursor_ = cursor; return bad(start); }
        */
        // clang-format on
    }

    bool blank(const unsigned char* start) {
        newline_ = newline_ || std::find(start, cursor_, '\n') != cursor_;
        return true;
    }

    bool line_comment(const unsigned char* start) {
        cursor_ = std::find(cursor_, end_, '\n');
        return add_comment(start);
    }

    bool add_comment(const unsigned char* start) {
        if (as_written_)
            add(TokenKind::Comment, start, "");
        return true;
    }

    bool block_comment(const unsigned char* start) {
        const unsigned char* const inside = cursor_;
        skip_to("*" "/");
        if (cursor_ == end_ && (end_ - inside < 2 || end_[-2] != '*' || end_[-1] != '/'))
            diags_.report(DiagId::UnclosedComment, range(start, inside), "`/*` has no `*/`: the rest of the script is a comment");
        return add_comment(start);
    }

    void skip_to(std::string_view close) {
        size_t at = text_.find(close, static_cast<size_t>(cursor_ - begin_));
        cursor_ = at == std::string_view::npos ? end_ : begin_ + at + close.size();
    }

    // A string in other quotes, 'like this', becomes one token and gives one error.
    bool foreign_string(const unsigned char* start) {
        static constexpr std::pair<std::string_view, std::string_view> quotes[] = {
            {"'", "'"}, {"\u201c", "\u201d"}, {"\u2018", "\u2019"}};
        const size_t at = static_cast<size_t>(start - begin_);
        const std::string_view line = text_.substr(at, text_.find('\n', at) - at);
        for (const auto& [open, close] : quotes) {
            if (!line.starts_with(open))
                continue;
            const size_t end = line.find(close, open.size());
            if (end == std::string_view::npos)
                return false;
            const std::string_view inside = line.substr(open.size(), end - open.size());
            cursor_ = start + end + close.size();
            diags_.report(DiagId::BadCharacter, range(start, cursor_), fmt::format("nothing in a script begins with `{}`", open))
                .help(inside.find('"') == std::string_view::npos
                          ? fmt::format("write a string between `\"` and `\"`: `\"{}\"`", inside)
                          : "write a string between `\"` and `\"`");
            add_string(start, std::string(inside));
            return true;
        }
        return false;
    }

    // Reports a run of non-ASCII bytes with one message.
    bool bad(const unsigned char* start) {
        if (foreign_string(start))
            return true;
        // Skip the byte order mark that some editors write at the beginning of UTF-8 files.
        constexpr std::string_view byte_order_mark = "\ufeff";
        if (start == begin_ && text_.starts_with(byte_order_mark)) {
            cursor_ = start + byte_order_mark.size();
            return true;
        }
        auto odd = [](unsigned char c) { return c >= 0x80 || c == 0; };
        if (odd(*start))
            cursor_ = std::find_if_not(cursor_, end_, odd);
        size_t length = *start < 0x80 ? *start >= 0x20 && *start != 0x7f : utf8_length(start, end_);
        std::string what = length ? fmt::format("`{}`", std::string(start, start + length))
                                  : fmt::format("byte 0x{:02x}", *start);
        auto report = diags_.report(DiagId::BadCharacter, range(start, cursor_),
                                    fmt::format("nothing in a script begins with {}", what));
        if (*start == '\'' || what == "`\u201c`" || what == "`\u201d`" || what == "`\u2018`" || what == "`\u2019`")
            report.help("write a string between `\"` and `\"`");
        if (*start == '@')
            report.help("an array is a global without `@` here: `global n`, then `n[key]++`");
        return true;
    }

    bool embedded(const unsigned char* start) {
        const unsigned char* body = cursor_;
        skip_to("%}");
        std::string text(body, cursor_);
        if (text.ends_with("%}"))
            text.resize(text.size() - 2);
        else if (DiagBuilder report =
                     diags_.report(DiagId::UnclosedString, range(start, body), "`%{` has no `%}`");
                 text.find("}%") != std::string::npos)
            report.help("write `%}` instead of `}%`");
        add(TokenKind::Embedded, start, std::move(text));
        return true;
    }

    // `$#` is a number, `@#` a string.
    bool argument_count(const unsigned char* start) {
        std::string count = std::to_string(args_.size());
        if (*start == '@')
            add_string(start, count);
        else
            add(TokenKind::Number, start, count).number = static_cast<int64_t>(args_.size());
        return true;
    }

    // `$N` stands for the argument's characters, `@N` for a string literal with the argument.
    bool argument(const unsigned char* start) {
        std::string name = spelled(start);
        unsigned long which = std::strtoul(name.c_str() + 1, nullptr, 10);
        if (argument_ || which == 0 || which > std::min<size_t>(args_.size(), 999)) {
            // A missing argument is not an error yet: a conditional may remove the token. The stand-in must not cause
            // other errors, so it is valid wherever a number or string is.
            Token& token = add(*start == '@' ? TokenKind::String : TokenKind::Number, start, *start == '@' ? "" : "0");
            if (!argument_ && which > 0 && which <= 999)
                token.missing = static_cast<uint16_t>(which);
            else
                diags_.report(DiagId::BadArgument, range(start, cursor_),
                              fmt::format("`{}`: {}", name,
                                          argument_    ? "an argument cannot use another one"
                                          : which == 0 ? "arguments are counted from 1"
                                                       : "arguments are counted up to 999"));
            return true;
        }
        const std::string& text = args_[which - 1];
        if (*start == '@') {
            add_string(start, text.substr(0, text.find('\0')));
            return true;
        }
        const unsigned char* behind = cursor_;
        while (std::isalnum(*cursor_) || *cursor_ == '_')
            cursor_++;
        std::string pasted = text + std::string(behind, cursor_);
        Lexer inner(*this, pasted, range(start, behind), static_cast<uint16_t>(which));
        std::vector<Token> tokens = inner.run();
        for (size_t i = 0; i < tokens.size(); i++) {
            Token& token = tokens[i];
            if (i == 0) {
                token.glued = last_end_ == start;
                token.on_line = newline_;
            }
            if (i == 0 && token.kind == TokenKind::String)
                add_string(start, std::move(token.text));
            else
                tokens_.push_back(std::move(token));
        }
        last_end_ = cursor_;
        newline_ = false;
        return true;
    }

    // Returns the digits of `1e6` or `10K`. Returns "" if the text has another form or the number is too large.
    static std::string in_digits(const std::string& text) {
        const size_t end = text.find_first_not_of("0123456789");
        if (end == 0 || end > 9)
            return "";
        const std::string digits = text.substr(0, end), rest = text.substr(end);
        if (rest.size() >= 2 && rest.size() <= 3 && (rest[0] | 32) == 'e' &&
            rest.find_first_not_of("0123456789", 1) == std::string::npos) {
            const int zeros = std::atoi(rest.c_str() + 1);
            return zeros <= 9 ? digits + std::string(static_cast<size_t>(zeros), '0') : "";
        }
        static constexpr std::pair<std::string_view, int> units[] = {{"k", 10}, {"K", 10}, {"KB", 10}, {"M", 20}, {"MB", 20}, {"G", 30}, {"GB", 30}};
        for (const auto& [unit, shift] : units)
            if (rest == unit)
                return std::to_string(std::atoll(digits.c_str()) << shift);
        return "";
    }

    bool number(const unsigned char* start) {
        std::string text = spelled(start);
        errno = 0;
        char* stop = nullptr;
        // The digits after the period in 99.05 are not an octal number.
        const bool is_fraction = last_end_ == start && tokens_.size() > 1 && tokens_.back().is(".") &&
                                 tokens_.back().glued && tokens_[tokens_.size() - 2].kind == TokenKind::Number;
        unsigned long long value = std::strtoull(text.c_str(), &stop, is_fraction ? 10 : 0);
        if (*stop || errno) {
            auto report = diags_.report(DiagId::BadNumber, range(start, cursor_),
                                        errno ? fmt::format("`{}` does not fit into 64 bits", text)
                                              : fmt::format("`{}` is not a number", text));
            if (!errno && text[0] == '0' && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); }))
                report.help("a leading 0 makes a number octal");
            else if (const std::string digits = in_digits(text); !errno && !digits.empty())
                report.help(fmt::format("numbers cannot have exponents or units; write `{}`", digits));
        }
        add(TokenKind::Number, start, text).number = static_cast<int64_t>(value);
        return true;
    }

    bool string(const unsigned char* start) {
        std::string value;
        while (true) {
            if (cursor_ >= end_ || *cursor_ == '\n') {
                diags_.report(DiagId::UnclosedString, range(start, cursor_), "this string has no closing `\"` on its line")
                    .help("write a newline as `\\n`");
                break;
            }
            unsigned char c = *cursor_++;
            if (c == '"')
                break;
            value += c == '\\' && cursor_ < end_ ? read_escape(cursor_, end_, hex_escapes_) : static_cast<char>(c);
        }
        // In BPF, strings end at the first NUL, so text after a NUL would be lost.
        size_t seen = value.find('\0');
        if (seen != std::string::npos && value.find_first_not_of('\0', seen) != std::string::npos)
            diags_.report(DiagId::CutString, range(start, cursor_), "a NUL ends this string; the rest of the string is ignored");
        add_string(start, value.substr(0, seen));
        return true;
    }

    FileId file_;
    const std::vector<std::string>& args_;
    Diagnostics& diags_;
    bool hex_escapes_;
    bool as_written_; // lex_as_written()
    std::string_view text_;
    const unsigned char *begin_, *end_, *cursor_;
    const unsigned char* last_end_ = nullptr; // end of the last token
    bool newline_ = true;
    Range place_;
    uint16_t argument_ = 0; // if not 0: the lexer reads the text of this argument, which is used at place_
    std::vector<Token> tokens_;
};

} // namespace

namespace {

std::vector<Token> run(Lexer lexer) {
    Token end;
    end.range = lexer.end_range();
    end.on_line = true;
    std::vector<Token> tokens = lexer.run();
    tokens.push_back(std::move(end));
    return tokens;
}

} // namespace

std::vector<Token> lex(FileId file, const Sources& sources, const std::vector<std::string>& args, Diagnostics& diags,
                       bool hex_escapes) {
    return run(Lexer(file, sources.text(file), args, diags, hex_escapes));
}

std::vector<Token> lex_as_written(FileId file, const Sources& sources, Diagnostics& diags) {
    const std::vector<std::string> no_arguments;
    return run(Lexer(file, sources.text(file), no_arguments, diags, true, true));
}

Range range_in_string(Range literal, size_t begin, size_t end, const Sources& sources) {
    std::string_view text = sources.text(literal);
    const auto* first = reinterpret_cast<const unsigned char*>(text.data());
    const unsigned char *at = first, *stop = first + text.size();
    size_t count = 0; // number of decoded bytes so far
    Range found{literal.file, 0, 0};
    bool inside = false;
    while (at < stop && count < end) {
        if (!inside) {
            // Adjacent literals are separated by blanks and comments only. If anything else follows, give up.
            if (*at != '"' && !std::isspace(*at))
                return literal;
            inside = *at++ == '"';
            continue;
        }
        const unsigned char* start = at;
        unsigned char c = *at++;
        if (c == '"') {
            inside = false;
            continue;
        }
        if (c == '\\' && at < stop)
            read_escape(at, stop);
        if (count == begin)
            found.begin = literal.begin + static_cast<uint32_t>(start - first);
        if (++count == end)
            found.end = literal.begin + static_cast<uint32_t>(at - first);
    }
    return found.end > found.begin && found.begin >= literal.begin && begin < end ? found : literal;
}

} // namespace sonde
