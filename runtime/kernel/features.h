// Finds what a kernel allows.
//
// The running kernel is tested by loading small programs. Its version is never used, because distributions backport
// features and disable others. For another kernel, for which sonde only translates, its types (BTF) show most features.
#pragma once

#include <string>
#include <string_view>

#include "arch/system_calls.h"
#include "runtime/plan/kernel_facts.h"
#include "runtime/plan/plan.h"

namespace sonde {

class BtfFile;

// Facts about the running kernel.
const KernelFacts& running_kernel();
// Facts about the kernel with these types (BTF). What is decided when the machine starts (security modules, lockdown,
// preemption) is left to the session.
KernelFacts read_kernel_facts(std::string_view types, const SystemCalls& calls);

// The reason why a kernel with these types cannot attach trampolines; empty if it can. Linux before 6.4 on arm64 loads
// programs for trampolines and security hooks, and then refuses to attach them.
std::string why_no_direct_calls(const BtfFile& types);

// Whether handlers always find data that they have kept with the current thread (BPF_MAP_TYPE_TASK_STORAGE).
// `anywhere`: also handlers that interrupt others; else those in programs and at system calls only.
bool has_task_storage(bool anywhere);

// The reason for a function whose result cannot be set, if the kernel has no list of suitable functions.
std::string only_security_functions(bool and_system_calls);

// Returns the kinds of links to use for the plan's probes on the running kernel. `only_perf_events` excludes
// uprobe_multi.
plan::LinkKinds find_link_kinds(const plan::Plan& plan, bool only_perf_events);

} // namespace sonde
