// -p2: prints the analyzed script in the form of SystemTap's listing, for programs that read it.
#pragma once

#include <string>

#include "frontend/hir/hir.h"

namespace sonde::hir {

// Lists globals, functions and probe points with their types. (--dump=hir also prints the bodies.)
std::string listing(const Program& program);

} // namespace sonde::hir
