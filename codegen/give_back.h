// What translating leaves in memory, given back before a session that may run for days.
#pragma once

namespace sonde {

// The heap that LLVM leaves empty, and the pages of its code and tables, which are files' and come back when they are
// needed. Nothing is lost where this does not work.
void give_memory_back();

} // namespace sonde
