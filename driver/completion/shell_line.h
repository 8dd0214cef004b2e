// A shell's line up to the cursor: the unquoted words of its last command, and the unfinished word. This word can have
// an open quote. sonde's points contain quotes and parentheses, so their completion must know how the shell will read
// them.
//
// The quoting is that of POSIX shells: '...', "..." and backslashes. zsh and fish agree for the characters in points.
// The characters `;`, `|`, `&`, `(` and newlines begin another command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct ShellLine {
    std::vector<std::string> words; // the last command's, without the unfinished one
    std::string word;               // the unfinished one; empty after a blank
    // The shell replaces only a part of the word: readline(3) begins after an open quote, or else after the last of
    // these characters:
    //
    //   "'><=;|&(:
    //
    // `kept` is the part before that place, without quotes. `quote` is the open quote, or 0.
    std::string kept;
    char quote = 0;
};

// Splits the line. Accepts any text.
ShellLine read_shell_line(std::string_view line);

// Returns whether bash needs a quote around the rest of a whole word. False if a quote is open already.
bool needs_quote(const ShellLine& line, std::string_view word);

// Quotes a whole word for bash, without the part that bash keeps. If `quoted`, the result begins with a quote. If
// `open`, the word is unfinished and the quote stays open.
std::string quote_for_bash(const ShellLine& line, std::string_view word, bool quoted, bool open);

} // namespace sonde
