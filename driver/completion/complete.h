// `sonde --complete SHELL LINE`: completes the last word of the line, for bash, zsh and fish (packaging/completions).
//
// The shell scripts know nothing about sonde. They pass the line up to the cursor, and read words, one on each line.
// The first line tells the shell how to use the words:
//
//   words                      complete words; append a blank
//   open                       unfinished words; append no blank
//   files, folders, commands   also add the shell's own completions of this kind
//
// A tab separates a word from its description. For bash, the words are quoted, and replace only the part after
// readline(3)'s last word break. For zsh and fish they are whole words, which the shell quotes.
#pragma once

#include <string>
#include <vector>

namespace sonde {

// Prints the completions. `words` are SHELL and LINE. Returns the exit status.
int print_completions(const std::vector<std::string>& words);

} // namespace sonde
