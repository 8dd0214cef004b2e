// Registers at a probe.
#pragma once

#include "codegen/lower/lowerer.h"

namespace sonde {

// By DWARF's number, as the probed instruction sees it.
llvm::Value* read_register(Lowerer& l, int dwarf);

} // namespace sonde
