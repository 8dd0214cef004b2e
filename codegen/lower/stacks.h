// Stacks.
#pragma once

#include "codegen/lower/lowerer.h"

namespace sonde {

// At a handler's beginning: where its stacks begin, as they are unwound later.
void begin_stacks(Lowerer& l);

} // namespace sonde
