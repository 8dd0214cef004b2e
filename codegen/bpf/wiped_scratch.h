// A step of code generation for BPF, after the optimiser.
#pragma once

namespace llvm {
class Module;
}

namespace sonde {

// Scratch memory of that name is zeros from the handler's beginning. Changes the module.
void clear_wiped_scratch(llvm::Module& module);

} // namespace sonde
