// Detects whether handlers in the kernel can be preempted.
//
// Why this matters: while a handler is preempted, the same handler cannot run again on its processor. The kernel treats
// such a hit as recursion and skips it. With several busy threads this loses thousands of hits.
//
// Handlers can be preempted at trampolines (fentry) and, since 7.0, at raw tracepoints, if the kernel itself is
// preemptible. Handlers of kprobes and of tracepoints' perf events cannot be preempted.
#pragma once

namespace sonde {

// Determined by the kernel's preemption model.
bool handlers_are_preempted();
// Returns true if system calls should be probed by the perf events of their tracepoints: handlers at raw tracepoints
// would be preempted, and tracefs, which the events need, is available.
bool prefers_syscall_events();

} // namespace sonde
