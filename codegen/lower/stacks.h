// Stacks.
#pragma once

namespace sonde {

struct Lowerer;

// At a handler's beginning: where its stacks begin, as they are unwound later.
void begin_stacks(Lowerer& l);

} // namespace sonde
