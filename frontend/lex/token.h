// Tokens of the language. Source of the rules: `man stap`, section "LANGUAGE", and chapter 2 of the SystemTap language
// reference.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diag.h"
#include "base/source.h"

namespace sonde {

enum class TokenKind : uint8_t {
    Identifier, // also `$x` and `@x`, and the `$` or `$$` at the end of a target variable
    Keyword,
    Number,
    String,
    Operator, // also punctuation; `text` is the operator
    Embedded, // %{ ... %}
    Comment,  // only of lex_as_written(): `// ...`, `# ...` or `/* ... */`
    End,
};

// One token. Its text is decoded: escapes in strings are replaced, and adjacent strings are joined.
struct Token {
    TokenKind kind = TokenKind::End;
    bool glued = false;    // no blank or comment separates the token from the one before
    bool on_line = false;  // the token is the first one on its line
    uint16_t argument = 0; // N: the token comes from the argument `$N` and has its position
    uint16_t missing = 0;  // N: the token stands for `$N` or `@N`, but the script has no such argument
    Range range;
    std::string text;   // identifier, operator, number as written, decoded string, or embedded code
    int64_t number = 0; // Number

    // Whether this is the given operator (or keyword). A string with the same text does not count.
    bool is(std::string_view op) const { return kind == TokenKind::Operator && text == op; }
    bool is_keyword(std::string_view word) const { return kind == TokenKind::Keyword && text == word; }
};

// Returns all tokens of a file; the last one is End. `args` are the script's arguments, for $1, @1, $# and @#. Joins
// adjacent string literals. Without `hex_escapes`, `\x` in a string means `x`, as in old versions of SystemTap. Reports
// errors to `diags` and goes on.
std::vector<Token> lex(FileId file, const Sources& sources, const std::vector<std::string>& args, Diagnostics& diags,
                       bool hex_escapes = true);

// The same without any change: comments are tokens, too, adjacent string literals stay apart, and `$1` is a token. The
// text of a token is decoded all the same; its range has the spelling.
std::vector<Token> lex_as_written(FileId file, const Sources& sources, Diagnostics& diags);

// Returns the source range of the bytes [begin, end) of a decoded string whose literals are at `literal`. Returns
// `literal` itself if these bytes were not written there, but came from a script argument or a macro.
Range range_in_string(Range literal, size_t begin, size_t end, const Sources& sources);

} // namespace sonde
