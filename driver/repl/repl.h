// `sonde repl`: a session that you can talk to. docs/repl.md describes it.
#pragma once

#include <string>
#include <vector>

namespace sonde::repl {

// `words`: those after `repl`. Returns the exit status: 1 if the input comes from a pipe and some of it was wrong, or
// the session cannot begin; exit_lossy if a probe has lost data; else 0.
int run(const std::vector<std::string>& words);

} // namespace sonde::repl
