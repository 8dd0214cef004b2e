// The names of SystemTap's programs: a link to sonde with such a name takes that program's options.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

// The words of sonde's own command line that mean what `words` mean to `program`, the name that sonde was called by
// (with or without a folder). `staprun` (staprun(8)) and `stapbpf` (stapbpf(8)) run a plan that -p4 has saved; any
// other name, `stap` too, is sonde. Errors: an option that the program does not have, or that sonde cannot follow, with
// the reason; no plan.
Result<std::vector<std::string>> words_as(const std::string& program, const std::vector<std::string>& words);

} // namespace sonde
