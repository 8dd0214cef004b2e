// Links the script's C into the module of its handlers.
#pragma once

#include "base/result.h"
#include "codegen/emit/c_code.h"

namespace sonde {

class Emitter;

// Links and inlines all C functions. Returns the number of LLVM instructions in the largest one.
Result<unsigned> link_c_code(Emitter& emitter, const CCode& code);

} // namespace sonde
