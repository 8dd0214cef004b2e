// LLVM's optimiser. A file of its own, since its headers take as long to compile as all other code here.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sonde {

// `passes` as LLVM's `opt` takes them. Loops are neither unrolled nor vectorised.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* passes);

} // namespace sonde
