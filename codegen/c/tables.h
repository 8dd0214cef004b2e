// Tables of the script's C that hold addresses: of texts and other constants, and of functions.
#pragma once

#include <llvm/IR/Module.h>

namespace sonde {

// Variables that nobody writes become constants. Once everything is inlined.
void find_constants(llvm::Module& module);

// Calls through a pointer choose between the functions that it can lead to. True: there are calls to inline now. Once
// what is known has been inlined.
bool choose_functions(llvm::Module& module);

// Addresses in constants become numbers, as the kernel fills in none. What cannot is left as it is. Last. True: there
// is something to simplify.
bool number_addresses(llvm::Module& module);

} // namespace sonde
