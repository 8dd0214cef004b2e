// `sonde lsp`: a language server on standard input and output (LSP 3.17).
#pragma once

#include <string>
#include <vector>

namespace sonde::lsp {

// Serves until the client ends the session. `words` are the options for translations, or `--log-points` and the options
// for log points. Returns the exit status.
int serve(const std::vector<std::string>& words);

} // namespace sonde::lsp
