// What a kernel can do with BPF programs: by trying, for the one that runs here, or by its types, for another one.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plan/plan.h"

namespace sonde {

// What this kernel has, by trying (never by version).
struct KernelFeatures {
    bool may_goto = false;
    bool tracepoint_cookie = false; // programs at raw tracepoints have one
    bool register_writes = false;   // programs at programs' code can change registers
};
// Whether functions of the kernel can be probed: by trampolines and by breakpoints. Empty, or in words why not.
struct KernelFunctionProbing {
    std::string why_not_fentry, why_not_kprobe;
};
KernelFunctionProbing probe_kernel_functions();
// Why programs of a kind that decides (plan::decides) cannot do so on this kernel, in words; empty: they can.
// `function`: the kernel's, where they are about one.
std::string why_no_decision(plan::ProbeKind kind, const std::string& function);

KernelFeatures probe_kernel_features();

// What a kernel that does not run here has, as far as its types (BTF) tell.
struct FeaturesByTypes {
    bool may_goto = false, tracepoint_cookie = false, uprobe_session = false, fentry = false, kprobe = false,
         netfilter = false, lsm = false, register_writes = false, error_injection = false;
    // As the function of that name says of the kernel that runs here.
    std::string why_no_decision(plan::ProbeKind kind, const std::string& function) const;
};
FeaturesByTypes read_features(std::string_view types);
// Of a function whose result cannot be set, where the kernel has no list of functions for which it can.
inline constexpr const char* only_security_functions =
    "it is built without error injection (CONFIG_FUNCTION_ERROR_INJECTION), which leaves functions `security_...`";
// Whether one program can be at a function's entry and return (runtime/kernel/uprobe_session.h).
bool has_uprobe_session();
// By which of several ways the plan's probes are attached on this kernel.
plan::Ways find_ways(const plan::Plan& plan, bool only_perf_events);

// Why handlers cannot write user memory on this kernel, in words; empty: they can.
std::string why_not_write();

} // namespace sonde
