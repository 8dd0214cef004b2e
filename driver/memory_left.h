// Running out of memory.
//
// Some of the libraries for debug information and for translation crash if an allocation fails. For example, libdw
// 0.188 reads through a null pointer. sonde therefore checks the available memory before it calls them. For small
// scripts and programs, that is enough.
#pragma once

#include "base/result.h"

namespace sonde {

// Errors: a limit on this process' address space or on the machine leaves less memory than the smallest session needs.
Result<void> check_memory();

// Handles a failed allocation that nobody can catch, in another thread or in a destructor. From this call on, it ends
// the process with status 1 and main()'s message, instead of an abort.
void explain_terminate();

} // namespace sonde
