// The lexer. re2c compiles the rules; the text ends with a NUL that serves as sentinel, NULs inside it are bad characters.
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "frontend/lex/token.h"

namespace sonde {
namespace {

// clang-format off
/*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = cursor;
    re2c:yyfill:enable = 0;

    blank = [ \t\r\n\f\v]+;
    line_comment = ("//" | "#") [^\n\x00]*;
    name = [A-Za-z_] [A-Za-z0-9_$]*;
    target = [$@] [A-Za-z_$] [A-Za-z0-9_$]*;
    digits = [0-9] [0-9A-Za-z]*;
    operator = "<<<" | ">>>" | "<<=" | ">>=" | "**"
             | "==" | "!=" | "<=" | ">=" | "=~" | "!~" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "^=" | "|=" | ".="
             | "&&" | "||" | "++" | "--" | "->" | "<<" | ">>" | "%(" | "%?" | "%:" | "%)"
             | [-+*/%&|^!~<>=.,;:?(){}\x5b\x5d];
*/

bool is_keyword(std::string_view word) {
    static constexpr std::string_view words[] = {"probe", "global", "private", "function", "if", "else", "for", "foreach", "in",
        "limit", "return", "delete", "while", "break", "continue", "next", "string", "long", "try", "catch"};
    for (std::string_view keyword : words)
        if (word == keyword)
            return true;
    return false;
}
// clang-format on

class Lexer {
  public:
    Lexer(FileId file, const Sources& sources, const std::vector<std::string>& args, Diagnostics& diags)
        : file_(file), args_(args), diags_(diags), text_(sources.text(file)) {
        begin_ = reinterpret_cast<const unsigned char*>(text_.data());
        end_ = begin_ + text_.size();
    }

    std::vector<Token> run() {
        cursor_ = begin_;
        while (next()) {
        }
        Token end;
        end.range = range(end_, end_);
        tokens_.push_back(std::move(end));
        return std::move(tokens_);
    }

  private:
    Range range(const unsigned char* from, const unsigned char* to) const {
        return {file_, static_cast<uint32_t>(from - begin_), static_cast<uint32_t>(to - begin_)};
    }

    void add(TokenKind kind, const unsigned char* from, std::string text) {
        Token token;
        token.kind = kind;
        token.range = range(from, cursor_);
        token.text = std::move(text);
        tokens_.push_back(std::move(token));
    }

    std::string spelled(const unsigned char* from) const {
        return {reinterpret_cast<const char*>(from), static_cast<size_t>(cursor_ - from)};
    }

    // One token or blank; false at the end.
    bool next() {
        const unsigned char* start = cursor_;
        const unsigned char* cursor = cursor_;
        // clang-format off
        /*!re2c
            blank           { cursor_ = cursor; return true; }
            line_comment    { cursor_ = cursor; return true; }
            "/*"            { cursor_ = cursor; skip_to("*" "/"); return true; }
            "%{"            { cursor_ = cursor; return embedded(start); }
            name            { cursor_ = cursor; return word(start); }
            "$#"            { cursor_ = cursor; number_of_arguments(start, false); return true; }
            "@#"            { cursor_ = cursor; number_of_arguments(start, true); return true; }
            [$@] [0-9]+     { cursor_ = cursor; return argument(start); }
            target          { cursor_ = cursor; add(TokenKind::Identifier, start, spelled(start)); return true; }
            digits          { cursor_ = cursor; return number(start); }
            ["]             { cursor_ = cursor; return string(start); }
            operator        { cursor_ = cursor; add(TokenKind::Operator, start, spelled(start)); return true; }
            "\x00"          { return nul(start, cursor); }
            *               { cursor_ = cursor; return bad(start); }
        */
        // clang-format on
    }

    bool nul(const unsigned char* start, const unsigned char* after) {
        if (start >= end_)
            return false;
        cursor_ = after;
        return bad(start);
    }

    bool bad(const unsigned char* start) {
        // One message for a run of bad bytes.
        while (cursor_ < end_ && (*cursor_ >= 0x80 || *cursor_ == 0))
            cursor_++;
        std::string what = *start >= 0x20 && *start < 0x7f ? fmt::format("`{}`", static_cast<char>(*start)) : fmt::format("byte 0x{:02x}", *start);
        diags_.report(DiagId::BadCharacter, range(start, cursor_), fmt::format("no token begins with {}", what));
        return true;
    }

    void skip_to(std::string_view close) {
        size_t at = text_.find(close, static_cast<size_t>(cursor_ - begin_));
        cursor_ = at == std::string_view::npos ? end_ : begin_ + at + close.size();
    }

    bool embedded(const unsigned char* start) {
        const unsigned char* body = cursor_;
        skip_to("%}");
        std::string text(reinterpret_cast<const char*>(body), static_cast<size_t>(cursor_ - body));
        if (text.ends_with("%}"))
            text.resize(text.size() - 2);
        else
            diags_.report(DiagId::UnclosedString, range(start, body), "`%{` has no `%}`");
        add(TokenKind::Embedded, start, std::move(text));
        return true;
    }

    bool word(const unsigned char* start) {
        std::string text = spelled(start);
        add(is_keyword(text) ? TokenKind::Keyword : TokenKind::Identifier, start, std::move(text));
        return true;
    }

    void number_of_arguments(const unsigned char* start, bool as_string) {
        std::string count = std::to_string(args_.size());
        if (as_string) {
            add(TokenKind::String, start, count);
        } else {
            add(TokenKind::Number, start, count);
            tokens_.back().number = static_cast<int64_t>(args_.size());
        }
    }

    // $N: the argument's characters as if written here; @N: as a string literal.
    bool argument(const unsigned char* start) {
        unsigned long which = std::strtoul(spelled(start).c_str() + 1, nullptr, 10);
        if (which == 0 || which > args_.size()) {
            diags_.report(DiagId::BadArgument, range(start, cursor_),
                          fmt::format("`{}`: there {} {} script argument{}", spelled(start), args_.size() == 1 ? "is" : "are",
                                      args_.size(), args_.size() == 1 ? "" : "s"));
            add(TokenKind::Number, start, "0");
            return true;
        }
        const std::string& text = args_[which - 1];
        if (*start == '@') {
            add_string(start, text);
            return true;
        }
        // The pasted text has no place of its own: its tokens are where `$N` is.
        Sources pasted;
        FileId id = pasted.add("argument", text);
        std::vector<std::string> none;
        std::vector<Token> tokens = lex(id, pasted, none, diags_);
        Range place = range(start, cursor_);
        for (Token& token : tokens) {
            if (token.kind == TokenKind::End)
                break;
            token.range = place;
            tokens_.push_back(std::move(token));
        }
        return true;
    }

    bool number(const unsigned char* start) {
        std::string text = spelled(start);
        errno = 0;
        char* stop = nullptr;
        unsigned long long value = std::strtoull(text.c_str(), &stop, 0);
        if (*stop || errno) {
            auto report = diags_.report(DiagId::BadNumber, range(start, cursor_),
                                        errno ? fmt::format("`{}` does not fit into 64 bits", text) : fmt::format("`{}` is not a number", text));
            if (!errno && text.size() > 1 && text[0] == '0' && text[1] != 'x')
                report.help("a leading 0 makes a number octal");
        }
        add(TokenKind::Number, start, text);
        tokens_.back().number = static_cast<int64_t>(value);
        return true;
    }

    bool string(const unsigned char* start) {
        std::string value;
        while (true) {
            if (cursor_ >= end_ || *cursor_ == '\n') {
                diags_.report(DiagId::UnclosedString, range(start, cursor_), "this string has no closing `\"` on its line").help("write a newline as `\\n`");
                break;
            }
            unsigned char c = *cursor_++;
            if (c == '"')
                break;
            if (c == '\\' && cursor_ < end_)
                value += escape();
            else
                value += static_cast<char>(c);
        }
        // A NUL ends a string: nothing behind it could be seen.
        size_t nul = value.find('\0');
        if (nul != std::string::npos)
            value.resize(nul);
        add_string(start, value);
        return true;
    }

    void add_string(const unsigned char* start, const std::string& value) {
        if (!tokens_.empty() && tokens_.back().kind == TokenKind::String) {
            tokens_.back().text += value; // adjacent literals are one
            tokens_.back().range = Range::join(tokens_.back().range, range(start, cursor_));
            return;
        }
        add(TokenKind::String, start, value);
    }

    // Behind a backslash.
    char escape() {
        unsigned char c = *cursor_++;
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
        case 'x': {
            int value = 0;
            for (int i = 0; i < 2 && cursor_ < end_ && std::isxdigit(*cursor_); i++, cursor_++)
                value = value * 16 + (std::isdigit(*cursor_) ? *cursor_ - '0' : (*cursor_ | 32) - 'a' + 10);
            return static_cast<char>(value);
        }
        default:
            break;
        }
        if (c < '0' || c > '7')
            return static_cast<char>(c);
        int value = c - '0';
        for (int i = 0; i < 2 && cursor_ < end_ && *cursor_ >= '0' && *cursor_ <= '7'; i++)
            value = value * 8 + (*cursor_++ - '0');
        return static_cast<char>(value);
    }

    FileId file_;
    const std::vector<std::string>& args_;
    Diagnostics& diags_;
    std::string_view text_;
    const unsigned char* begin_ = nullptr;
    const unsigned char* end_ = nullptr;
    const unsigned char* cursor_ = nullptr;
    std::vector<Token> tokens_;
};

} // namespace

std::vector<Token> lex(FileId file, const Sources& sources, const std::vector<std::string>& args, Diagnostics& diags) {
    return Lexer(file, sources, args, diags).run();
}

} // namespace sonde
