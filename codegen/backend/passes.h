// LLVM's optimizer. It has its own file because its headers take as long to compile as all other code of this folder.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sonde {

// Runs `passes`, in the syntax of LLVM's `opt`. Does not unroll or vectorize loops.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* passes);

} // namespace sonde
