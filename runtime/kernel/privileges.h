// The capabilities of this process (capabilities(7)): what tracing needs, and what a session gives up once it runs.
#pragma once

#include <initializer_list>
#include <string>

#include "runtime/plan/plan.h"

namespace sonde {

// Which capabilities tracing needs and this process has not, what they are for, and how to give them; empty: none.
std::string missing_capabilities();

// Whether this thread has the capability (CAP_... of linux/capability.h); not known: no.
bool has_capability(int capability);

// Why this process may not run a session that changes what the kernel or a program does (`changes`: Plan::changes);
// empty: it may. The kernel itself asks for CAP_SYS_ADMIN only where user memory is written. With CAP_BPF and
// CAP_PERFMON it lets a program set results of the kernel's functions, which is as much as being root.
std::string why_no_changes(const std::string& changes);

// After everything is armed: gives up the capabilities that nothing uses from then on. What is started later by a root
// user has all of them again, as execve(2) has it; a command of -c was started before. Where it fails nothing changes.
void drop_privileges(const plan::Plan& plan);

// The calling thread gives up all capabilities but these (CAP_... of linux/capability.h), as far as it has them. For
// the session's other threads and processes, when they begin: capabilities are a thread's.
void keep_capabilities(std::initializer_list<int> kept);

} // namespace sonde
