// Whether the kernel may take the processor away from a handler of its own code.
//
// At trampolines (fentry) and, since 7.0, at raw tracepoints a handler can be preempted where the kernel itself can.
// Until it is given the processor again, no other hit of it on that processor leads to it: the kernel takes that for
// recursion, and misses thousands of hits where several threads are busy. At breakpoints (kprobes) and at tracepoints'
// perf events handlers cannot be preempted, and none is missed.
#pragma once

namespace sonde {

// By the preemption model that the kernel runs with.
bool handlers_are_preempted();
// System calls are better probed at the tracepoints' perf events than at raw tracepoints: handlers there are preempted,
// and here is what the events are made of (tracefs).
bool prefers_syscall_events();

} // namespace sonde
