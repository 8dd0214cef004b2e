// Steps of code generation for BPF about the distances of jumps, after the optimiser.
#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace sonde {

// may_goto with jumps of 32 bits. Changes the module.
void lengthen_may_goto(llvm::Module& module);
// Puts an instruction without an effect into some blocks, so that jumps have other distances. Changes the module.
void rearrange(llvm::Module& module, uint32_t arrangement);

} // namespace sonde
