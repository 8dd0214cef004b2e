// Lays a script out in the one style of sonde's own scripts (docs/formatting.md): indentation, blanks, the places of
// braces, and empty lines. Line breaks in statements and argument lists stay, and so do comments.
//
// The formatter works on tokens, so macros, conditionals and embedded C survive. It never changes a token.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde {

// The tokens of the text must be valid (lex_as_written() reports no error). Formatting the result again does not change
// it. Errors: the result would have other tokens, which is a bug.
Result<std::string> format_script(std::string_view text);

// Replaces the bytes [begin, end) of the old text.
struct TextEdit {
    size_t begin = 0, end = 0;
    std::string text;
};
// Returns the edits that turn a text into the result of format_script(), in order. An edit covers a gap between two
// tokens, or a comment.
std::vector<TextEdit> find_edits(std::string_view text, std::string_view formatted);

} // namespace sonde
