// Facts about the kernel, the target and the script that codegen needs and that are not options.
#pragma once

#include <string>
#include <vector>

#include "arch/architecture.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

struct CCode;

struct CodegenFacts {
    // That of the machine that will run the plan.
    const Architecture* architecture = nullptr;
    // The kernel has may_goto (6.9, bpf: Introduce may_goto instruction). Otherwise loops use bpf_loop().
    bool may_goto = true;
    bool kernel_types = true; // the kernel has BTF, so its structures can be read with plain loads
    // System calls are probed at perf events of their tracepoints (runtime/kernel/preemption.h).
    bool syscall_events = false;
    // The kernel has session links. `target_program`: the target's own program, for which a session link has no
    // advantage.
    bool uprobe_session = false;
    std::string target_program;
    std::vector<plan::GroupName> groups; // Translate::groups, with the roots of those in which a program was found
    std::string script;                  // name in messages
    std::string module;                  // module_name()
    const CCode* c_code = nullptr;       // the script's C (codegen/c), if it has any
    plan::KernelBuild kernel;            // whose types the handlers are made for
    plan::Origin origin;                 // the texts that a saved plan keeps
    // The chunks of the flight recorder's rings (runtime/plan/flight_rings.h). 0: handlers send their records to the
    // session at once.
    uint32_t flight_chunks = 0;
};

// Whether CodegenFacts::syscall_events applies to this handler.
bool is_at_syscalls(const hir::Handler& handler);

} // namespace sonde
