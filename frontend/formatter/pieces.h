// The tokens and comments of a script as written, each with the facts about its place that the layout depends on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/lex/token.h"

namespace sonde {

struct Piece {
    TokenKind kind = TokenKind::End;
    std::string_view text; // as written
    size_t begin = 0;      // offset in the script
    size_t newlines = 0;   // between the piece before and this one
    size_t blanks = 0;     // columns between the piece before and this one, if both are on one line
    size_t column = 0;     // where the piece begins in its line
    size_t line_indent = 0;
    size_t line = 0;
    // Of a bracket: the index of the closing or opening one. npos: it does not exist.
    size_t partner = std::string::npos;

    bool is(std::string_view op) const { return kind == TokenKind::Operator && text == op; }
    bool is_keyword(std::string_view word) const { return kind == TokenKind::Keyword && text == word; }
    bool is_word() const { return kind == TokenKind::Identifier || kind == TokenKind::Keyword; }
    bool is_comment() const { return kind == TokenKind::Comment; }
    bool is_line_comment() const { return is_comment() && !text.starts_with("/*"); }
    // Whether nothing separates it from the piece before. False for the first piece.
    bool is_glued() const { return begin > 0 && newlines == 0 && blanks == 0; }
};

// Whether the piece is a part of a probe point's component, such as `vfs_*`.
inline bool is_part_of_component(const Piece& piece) {
    return piece.is_word() || piece.kind == TokenKind::Number || piece.is("*") || piece.is("**");
}

// Returns the pieces of a text, with an End as the last one. They refer to the text.
std::vector<Piece> read_pieces(std::string_view text);

// Returns for each piece the index of the first token at or after it, which is not a comment.
std::vector<size_t> find_next_tokens(const std::vector<Piece>& pieces);

// Returns the column after a text that begins in the given column. A tab ends at the next multiple of 8, and all
// other characters of UTF-8 are one column wide.
size_t column_behind(std::string_view text, size_t column);

} // namespace sonde
