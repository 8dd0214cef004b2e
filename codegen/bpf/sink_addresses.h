// A pass over BPF code, after the optimizer.
#pragma once

namespace llvm {
class Module;
}

namespace sonde {

// Recomputes addresses at constant offsets at each use instead of keeping them. Changes the module.
void sink_addresses(llvm::Module& module);

} // namespace sonde
