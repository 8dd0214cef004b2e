// A pass over BPF code, after the optimizer.
#pragma once

namespace llvm {
class Module;
}

namespace sonde {

// Zeroes all scratch memory with the tag "wiped" at the beginning of each handler. Changes the module.
void clear_wiped_scratch(llvm::Module& module);

} // namespace sonde
