// Tables of addresses in the script's C: of texts, other constants, and functions.
#pragma once

#include <llvm/IR/Module.h>

namespace sonde {

// Makes variables constant if they are never written. Call it after inlining.
void find_constants(llvm::Module& module);

// Replaces calls through a pointer by a choice between the functions that it can point to. Returns true if there are
// new calls to inline. Call it after the known functions are inlined.
bool choose_functions(llvm::Module& module);

// Replaces addresses in constants by numbers, because the kernel does not fill them in. Leaves constants unchanged for
// which this is impossible. Call it last. Returns true if the module can be simplified again.
bool number_addresses(llvm::Module& module);

} // namespace sonde
