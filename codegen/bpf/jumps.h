// Passes that change the distances of jumps in BPF code. They run after the optimizer.
#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace sonde {

// Lets may_goto jump farther than 16 bits can express. Changes the module.
void lengthen_may_goto(llvm::Module& module);
// Inserts an instruction without effect into some blocks, which changes the distances of jumps. Each value of
// `arrangement` chooses other blocks. Changes the module.
void rearrange(llvm::Module& module, uint32_t arrangement);

} // namespace sonde
