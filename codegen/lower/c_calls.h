// Calls between the script and its C.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

struct Lowerer;

// The body of a function in C: a call of what clang made of it.
void lower_c_body(Lowerer& l, const hir::Function& function);

} // namespace sonde
