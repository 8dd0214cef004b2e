// Checks that the running kernel supports the plan's probes, before anything is loaded.
//
// A plan may have been made for another kernel, or saved months ago. Without these checks, the verifier or the
// attaching would fail later, with a message about the symptom. Here the message names the missing feature, and if
// possible the option of sonde that does without.
#include <fmt/format.h>

#include "runtime/attach/attach.h"
#include "runtime/kernel/features.h"
#include "runtime/plan/kinds.h"

namespace sonde {

Result<void> check_probing(const plan::Plan& plan) {
    const KernelFacts& kernel = running_kernel();
    for (const plan::Probe& probe : plan.probes) {
        if (plan::traits(probe.kind).mechanism == plan::Mechanism::Watchpoint)
            if (std::string why = why_no_watchpoints(); !why.empty())
                return Error(fmt::format("cannot attach to {} ({}): {}", probe.points[0].pp, probe.place, why));
        if (plan::decides(probe.kind))
            if (std::string why = kernel.why_no_decision(probe.kind, probe.points[0].symbol); !why.empty())
                return Error(fmt::format("cannot attach to {} ({}): {}", probe.points[0].pp, probe.place, why));
        if (probe.is_session && !kernel.uprobe_session())
            return Error(
                fmt::format("cannot attach to {} ({}): the plan needs a link for a function's entry and return, which "
                            "requires Linux 6.13; translate the script with `--attach=uretprobe` for older kernels",
                            probe.points[0].pp, probe.place));
        const bool trampoline = plan::is_trampoline(probe.kind);
        if (!plan::is_kernel_function(probe.kind))
            continue;
        const std::string& why_not = trampoline ? kernel.why_not_fentry() : kernel.why_not_kprobe();
        if (why_not.empty())
            continue;
        const std::string what = fmt::format("cannot attach to {} ({})", probe.points[0].pp, probe.place);
        if (kernel.why_not_fentry().empty() || kernel.why_not_kprobe().empty())
            return Error(fmt::format("{}: the plan needs {}, which are not available: {}", what,
                                     trampoline ? "trampolines (fentry)" : "breakpoints (kprobes)", why_not));
        return Error(fmt::format("{}: functions of this kernel cannot be probed: it supports neither of the two ways\n "
                                 " trampolines (fentry): {}\n  breakpoints (kprobes): {}\n  use tracepoints instead: "
                                 "`sonde -l 'kernel.trace(\"*\")'` lists them",
                                 what, kernel.why_not_fentry(), kernel.why_not_kprobe()));
    }
    return {};
}

} // namespace sonde
