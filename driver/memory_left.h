// What is done about a want of memory.
//
// Of the libraries that read debug information and translate, not all survive a refusal: libdw 0.188 reads through a
// null pointer. What is refused before they begin cannot go wrong there, for scripts and programs that are small.
#pragma once

#include "base/result.h"

namespace sonde {

// Errors: less is left than the smallest session takes, by a limit of this process' address space or of the machine.
Result<void> check_memory();

// From here on a refusal that nothing can catch, in another thread or in a destructor, ends the process with status 1
// and the message that main() has for it, not with an abort.
void explain_terminate();

} // namespace sonde
