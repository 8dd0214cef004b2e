// A step of code generation for BPF, after the optimiser.
#pragma once

namespace llvm {
class Module;
}

namespace sonde {

// Addresses at constant offsets are computed anew at each use instead of being kept. Changes the module.
void sink_addresses(llvm::Module& module);

} // namespace sonde
