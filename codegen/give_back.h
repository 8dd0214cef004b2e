// Frees memory after translation, because the session that follows may run for days.
#pragma once

namespace sonde {

// Returns to the kernel the heap memory that LLVM has freed, and the pages of LLVM's code and tables. The latter belong
// to files and are read again when they are needed. If any of this fails, nothing else is affected.
void give_memory_back();

} // namespace sonde
