// A shell's line as far as it is written: its last command's words without quotes, and the word that the cursor ends,
// which may have begun a quote. Points of sonde are full of quotes and parentheses, so that whoever completes them has
// to know what the shell will make of them.
//
// The quoting is that of POSIX shells, which zsh and fish share where points are concerned: '...', "...", backslashes;
// `;`, `|`, `&`, `(` and newlines begin another command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct ShellLine {
    std::vector<std::string> words; // the last command's, without the unfinished one
    std::string word;               // the unfinished one; empty after a blank
    // What of that word a shell replaces with what it completes: readline(3) begins after an open quote, or else after
    // the last of
    // `"'><=;|&(:`. `kept` is what the word has before that place, without quotes; `quote` is the open quote, or 0.
    std::string kept;
    char quote = 0;
};

ShellLine read_shell_line(std::string_view line);

// Whether bash needs a quote around the rest of a whole word, where none is open.
bool needs_quote(const ShellLine& line, std::string_view word);

// A whole word as bash takes it in place of the replaced part, where it begins a quote if `quoted`. `open`: more will
// follow it, so that quote is not ended.
std::string quote_for_bash(const ShellLine& line, std::string_view word, bool quoted, bool open);

} // namespace sonde
