// Detects the features of a kernel that BPF programs need.
//
// The running kernel is tested by loading small programs. Its version is never used, because distributions backport
// features and disable others. For another kernel, for which sonde only translates, its types (BTF) show most features.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace sonde {

// Features of the running kernel.
struct KernelFeatures {
    bool may_goto = false;
    bool tracepoint_cookie = false; // programs at raw tracepoints can have a cookie
    bool register_writes = false;   // programs at uprobes can change registers
};
// Whether functions of the running kernel can be probed by trampolines (fentry) and by breakpoints (kprobes). Each
// member is empty if they can; otherwise it is the reason.
struct KernelFunctionProbing {
    std::string why_not_fentry, why_not_kprobe;
};
KernelFunctionProbing probe_kernel_functions();
// Returns why handlers of this kind (plan::decides) cannot decide on the running kernel; empty if they can. `function`
// is the kernel function, for kinds that concern one.
std::string why_no_decision(plan::ProbeKind kind, const std::string& function);

KernelFeatures probe_kernel_features();

// Features of another kernel, as its types (BTF) show them.
struct FeaturesByTypes {
    bool may_goto = false, tracepoint_cookie = false, uprobe_session = false, fentry = false, kprobe = false,
         netfilter = false, lsm = false, register_writes = false, error_injection = false;
    // The same as the function of this name above, for this kernel.
    std::string why_no_decision(plan::ProbeKind kind, const std::string& function) const;
};
FeaturesByTypes read_features(std::string_view types);
// The reason for a function whose result cannot be set, if the kernel has no list of suitable functions.
inline constexpr const char* only_security_functions =
    "it is built without error injection (CONFIG_FUNCTION_ERROR_INJECTION), so only results of functions "
    "`security_...` can be set";
// Returns whether session links are available: one program for a function's entry and return (uprobe_session.h).
bool has_uprobe_session();
// Returns the kinds of links to use for the plan's probes on the running kernel. `only_perf_events` excludes
// uprobe_multi.
plan::Ways find_ways(const plan::Plan& plan, bool only_perf_events);

// Returns why handlers cannot write user memory on the running kernel; empty if they can.
std::string why_not_write();

} // namespace sonde
