// `sonde --complete SHELL LINE`: how the line's last word may go on, for the completions of bash, zsh and fish
// (packaging/completions).
//
// The shells' scripts know nothing of sonde: they hand over the line up to the cursor and get words, one a line. The
// first line says how to take them: `words`, `open` (no blank after one, it goes on), `files`, `folders` or `commands`
// (add what the shell itself completes). A tab separates a word from its description. For bash, words are quoted, and
// are what replaces the part after the last break of readline(3); for the others they are whole words, which they
// quote.
#pragma once

#include <string>
#include <vector>

namespace sonde {

// Gives the exit status. `words`: SHELL and LINE.
int print_completions(const std::vector<std::string>& words);

} // namespace sonde
