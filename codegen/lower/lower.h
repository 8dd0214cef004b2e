// HIR to LLVM IR, once for both places. Handlers are lowered one after the other, with the functions that they call.
#pragma once

#include "base/result.h"

namespace sonde {

class Emitter;
class Target;

// All handlers of this place, with the functions that they call. Errors: what the place cannot do.
Result<void> lower_handlers(Emitter& emitter, Target& target);

} // namespace sonde
