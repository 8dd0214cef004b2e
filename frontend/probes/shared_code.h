// Functions that share their code. A linker can merge functions with equal instructions (`--icf=all`), and a library
// can give several names to one function. The same instructions then run, whichever of the functions is called. So such
// an address is one point, and a probe cannot tell the calls of one function from those of another.
#pragma once

#include <vector>

#include "frontend/probes/kind_process.h"

namespace sonde {

// Keeps one function for each address, under its first name, and warns of other functions whose calls are hit as well.
// The same applies to functions that an IFUNC's resolver can choose.
void keep_one_of_each_code(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern,
                           std::vector<FunctionInstance>& found);

} // namespace sonde
