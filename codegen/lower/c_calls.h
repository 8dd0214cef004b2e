// Calls between the script and its C.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

struct Lowerer;

// Emits the body of a C function: a call of the code that clang compiled.
void lower_c_body(Lowerer& l, const hir::Function& function);

} // namespace sonde
