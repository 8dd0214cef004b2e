// Capabilities of this process (capabilities(7)): those that tracing requires, and those that a session drops when it
// runs.
#pragma once

#include <initializer_list>
#include <string>

#include "runtime/plan/plan.h"

namespace sonde {

// Returns a message with the capabilities that tracing requires and this process lacks, their purpose, and how to grant
// them. Returns an empty string if none is missing.
std::string missing_capabilities();

// Returns whether this thread has the capability (CAP_... of linux/capability.h). Returns false if this is unknown.
bool has_capability(int capability);

// Returns why this process may not run a session that changes the kernel or a program (`changes`: Plan::changes).
// Returns an empty string if it may.
//
// The kernel itself requires CAP_SYS_ADMIN only for writing user memory. With CAP_BPF and CAP_PERFMON, a program could
// also set results of kernel functions, which is equivalent to root. So sonde requires CAP_SYS_ADMIN for all changes.
std::string why_no_changes(const std::string& changes);

// Drops the capabilities that are no longer used after all probes are attached. If this fails, nothing changes.
// Programs that a root user's session starts later have all capabilities again, due to the rules of execve(2). The
// command of -c was started before.
void drop_privileges(const plan::Plan& plan);

// Drops all capabilities of the calling thread except for these (CAP_... of linux/capability.h). Capabilities belong to
// a thread, so each new thread and process of the session calls this.
void keep_capabilities(std::initializer_list<int> kept);

} // namespace sonde
