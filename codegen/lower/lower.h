// Lowers HIR to LLVM IR, with the same code for both targets. Lowers one handler after the other, each with the
// functions that it calls.
#pragma once

#include "base/result.h"

namespace sonde {

class Emitter;
class Target;

// Lowers all handlers of this target. Errors: the target lacks a feature that the script needs.
Result<void> lower_handlers(Emitter& emitter, Target& target);

} // namespace sonde
