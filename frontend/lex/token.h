// Tokens of the language (LANGUAGE: lexical rules of `man stap`, "LANGUAGE" and the language reference, chapter 2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diag.h"
#include "base/source.h"

namespace sonde {

enum class TokenKind : uint8_t {
    Identifier, // also `$x`, `@x`
    Keyword,
    Number,
    String,
    Operator, // punctuation too; `text` is the operator
    Embedded, // %{ ... %}
    End,
};

struct Token {
    TokenKind kind = TokenKind::End;
    Range range;
    std::string text;   // identifier, operator, decoded string, embedded code
    int64_t number = 0; // Number
    bool is(std::string_view op) const { return kind == TokenKind::Operator && text == op; }
    bool is_keyword(std::string_view word) const { return kind == TokenKind::Keyword && text == word; }
};

// All tokens of a text, an End last. `args` are the script's arguments, pasted for $1, @1, $# and @#.
std::vector<Token> lex(FileId file, const Sources& sources, const std::vector<std::string>& args, Diagnostics& diags);

} // namespace sonde
