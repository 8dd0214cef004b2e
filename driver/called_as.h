// The names of SystemTap's programs: if you call sonde by a link with such a name, it accepts that program's options.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

// Translates the words of `program` to the words of sonde's own command line. `program` is argv[0], with or without a
// folder. `staprun` (staprun(8)) and `stapbpf` (stapbpf(8)) run a plan that -p4 saved. Any other name, such as `stap`,
// is sonde itself, and the words stay the same. Errors: an option that the program does not have or that sonde does not
// support, with the reason; a missing plan.
Result<std::vector<std::string>> words_as(const std::string& program, const std::vector<std::string>& words);

} // namespace sonde
