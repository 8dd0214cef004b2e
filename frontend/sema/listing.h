// -p2: what a script has become, in the form that readers of SystemTap's listing expect.
#pragma once

#include <string>

#include "frontend/hir/hir.h"

namespace sonde::hir {

// Globals, functions and probe points with their types; --dump=hir has the bodies too.
std::string listing(const Program& program);

} // namespace sonde::hir
