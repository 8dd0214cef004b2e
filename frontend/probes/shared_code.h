// Several functions with one code: linkers fold functions whose instructions are the same (`--icf=all`), and authors
// give a function further names. Whoever is called, the same instructions run, so one address is one point and the
// calls of one function cannot be told from another's.
#pragma once

#include <vector>

#include "frontend/probes/kind_process.h"

namespace sonde {

// Leaves one function for each address, under its first name, and warns of names whose calls are hit as well. The same
// for functions that the resolver of an IFUNC chooses from.
void keep_one_of_each_code(Resolving& resolving, DwarfModule& module, const ProcessPattern& pattern,
                           std::vector<FunctionInstance>& found);

} // namespace sonde
