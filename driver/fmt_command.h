// `sonde fmt`: formats scripts.
#pragma once

#include <string>
#include <vector>

namespace sonde {

// `words`: those after `fmt`. Returns the exit status: 1 if a file could not be formatted, or differs (--check).
int run_fmt(const std::vector<std::string>& words);

} // namespace sonde
