// `sonde mcp`: a server of the Model Context Protocol on standard input and output, for agents that debug.
#pragma once

#include <string>
#include <vector>

namespace sonde::mcp {

// Serves until the client closes standard input. `words` are the words after `mcp`. Returns the exit status.
int serve(const std::vector<std::string>& words);

} // namespace sonde::mcp
