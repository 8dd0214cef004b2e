// HIR to Plan: lowers every handler once, through Target, to a BPF object and a host object.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/source.h"
#include "frontend/hir/hir.h"
#include "runtime/plan.h"

namespace sonde {

struct CCode;

struct CodegenOptions {
    uint64_t max_nesting = 16;                 // MAXNESTING: activations of functions that call themselves
    uint64_t max_backtrace = 20;               // MAXBACKTRACE: addresses of a stack
    uint32_t max_string = 512;                 // MAXSTRINGLEN, rounded up to a power of two
    uint64_t max_action = 1000;                // MAXACTION
    uint64_t max_action_interruptible = 10000; // MAXACTION_INTERRUPTIBLE
    uint64_t max_errors = 0, max_skipped = 100;
    uint64_t ring_bytes = 16 << 20;
    bool filter_target = false;          // -c, -x: kernel handlers run only for the target's process tree
    std::vector<plan::GroupName> groups; // --container and the like: kernel handlers run only for tasks in these
    bool timing = false;                 // -t
    bool tells_context = false;          // records of prints say when they were made, and in which task
    bool one_by_one = false;             // -u: as SessionOptions::one_by_one
    bool tells_hits = false;             // each hit has a record: Plan::tells_hits
    bool suppress_errors = false;        // --suppress-handler-errors
    bool may_goto = true; // the kernel has it (6.9, bpf: Introduce may_goto instruction); else bpf_loop() runs loops
    bool kernel_types = true;    // the kernel tells them, so that its structures can be read with plain loads
    bool syscall_events = false; // system calls are probed at perf events of their tracepoints (runtime/preemption.h)
    // The kernel has session links; the target's own program, which is no gain to have one in.
    bool uprobe_session = false;
    std::string target_program;
    // Each gives other code that does the same, where the kernel's own compiler fails on some (KernelObject::load).
    uint32_t arrangement = 0;
    std::string script;            // name for messages
    std::string module;            // module_name()
    const CCode* c_code = nullptr; // the script's C (codegen/c), if it has any
};

// Lowered modules as text, for --dump=ir and --dump=bpf.
struct CodegenDumps {
    bool want_ir = false, want_bpf = false;
    std::string ir;  // LLVM IR of both modules after optimisation
    std::string bpf; // BPF assembly
};

// The handler is one that CodegenOptions::syscall_events is about.
bool is_at_syscalls(const hir::Handler& handler);

// Errors: what LLVM refused (BPF stack limit with the handler's place, ...).
Result<plan::Plan> generate(const hir::Program& program, const Sources& sources, const CodegenOptions& options,
                            CodegenDumps* dumps);

} // namespace sonde
