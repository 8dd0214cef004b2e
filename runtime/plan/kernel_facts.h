// What a kernel allows. These facts decide how a script is translated, and the session checks them before it loads
// anything. runtime/kernel/features.h makes them, for the running kernel and for another one.
#pragma once

#include <functional>
#include <string>

#include "base/lazy.h"
#include "runtime/plan/points.h"

namespace sonde {

// Each fact is computed when it is first needed, because most cost a system call or more. Facts that begin with
// `why_not` are the reason why something is impossible; an empty one means that it is possible. A default-constructed
// value allows probing kernel functions and writing user memory, and has no why_no_decision.
struct KernelFacts {
    Lazy<std::string> why_not_fentry = std::string(); // functions can be probed by trampolines (fentry, fexit)
    Lazy<std::string> why_not_kprobe = std::string(); // functions can be probed by breakpoints
    Lazy<std::string> why_not_write = std::string();  // handlers can write user memory
    // Links that serve many functions of the kernel or many places of a program.
    Lazy<bool> kprobe_multi = false, uprobe_multi = false;
    Lazy<bool> uprobe_session = false; // one program for a function's entry and return (uprobe_session.h)
    // The verifier supports loops directly; otherwise each iteration is a call, and calls share 512 bytes of stack.
    Lazy<bool> may_goto = false;
    Lazy<bool> tracepoint_cookie = false; // one program can serve several tracepoints and tell them apart
    Lazy<bool> register_writes = false;   // handlers in programs can change registers
    // Handlers at trampolines can be preempted, and then other hits are missed (runtime/kernel/preemption.h). False
    // also if breakpoints, which avoid this, need a privilege that sonde does not have.
    Lazy<bool> preempts_handlers = false;
    // Returns why handlers of a kind that decides (plan::decides) are not supported; "" if they are. `function` is the
    // kernel function in question, for kinds that probe one.
    std::function<std::string(plan::ProbeKind, const std::string& function)> why_no_decision;
};

} // namespace sonde
