// Tokens of the language (lexical rules: `man stap`, "LANGUAGE", and the language reference, chapter 2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diag.h"
#include "base/source.h"

namespace sonde {

enum class TokenKind : uint8_t {
    Identifier, // also `$x`, `@x`, and `$` and `$$` alone (they end a target variable)
    Keyword,
    Number,
    String,
    Operator, // punctuation too; `text` is the operator
    Embedded, // %{ ... %}
    End,
};

struct Token {
    TokenKind kind = TokenKind::End;
    bool glued = false;    // nothing stands between this token and the one before it
    bool on_line = false;  // the first one on its line
    uint16_t argument = 0; // N: the token came out of `$N`; its range is that of the `$N`
    uint16_t missing = 0;  // N: the token stands for `$N` or `@N`, which the script was not given
    Range range;
    std::string text;   // identifier, operator, number as written, decoded string, embedded code
    int64_t number = 0; // Number

    bool is(std::string_view op) const { return kind == TokenKind::Operator && text == op; }
    bool is_keyword(std::string_view word) const { return kind == TokenKind::Keyword && text == word; }
};

// All tokens of a text, an End last. `args` are the script's arguments, pasted for $1, @1, $# and @#. Adjacent string
// literals are joined. Without `hex_escapes`, `\x` in a string is an `x`.
std::vector<Token> lex(FileId file, const Sources& sources, const std::vector<std::string>& args, Diagnostics& diags,
                       bool hex_escapes = true);

// The place of bytes [begin, end) of a decoded string in the literals at `literal`; `literal` itself where these bytes
// were not written in it (a script argument, a macro).
Range range_in_string(Range literal, size_t begin, size_t end, const Sources& sources);

} // namespace sonde
