// The script's C becomes part of the module of its handlers.
#pragma once

#include "base/result.h"
#include "codegen/c/c_code.h"

namespace sonde {

class Emitter;

// Everything is inlined, as the script's own functions are. The number of LLVM's instructions in the largest function.
Result<unsigned> link_c_code(Emitter& emitter, const CCode& code);

} // namespace sonde
