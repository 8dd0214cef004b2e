// Recognizes breakpoints that the kernel manages but does not insert into new mappings. Some belong to a uprobe for one
// process alone. Others remain after a session was killed while it removed its probes (docs/kernels.md).
#pragma once

#include <cstdint>

namespace sonde {

// Returns whether the breakpoint in memory of `process`, at this offset of the file, belongs to a uprobe. Returns false
// if this cannot be known without risk, because the process has a debugger or handles breakpoints itself.
bool is_breakpoint_of_kernel(int64_t process, int fd, uint64_t offset);

// Returns a process that traces a thread of this one, as a debugger does (ptrace(2)); 0: none.
int64_t tracer_of(int64_t process);

} // namespace sonde
