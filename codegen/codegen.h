// Translates HIR to a plan: lowers every handler once, through Target, to a BPF object or to a host object.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/source.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

struct CCode;

struct CodegenOptions {
    uint64_t max_nesting = 16;                 // MAXNESTING: pending calls of recursive functions
    uint64_t max_backtrace = 20;               // MAXBACKTRACE: addresses in a stack
    uint32_t max_string = 512;                 // MAXSTRINGLEN in bytes, rounded up to a power of two
    uint64_t max_action = 1000;                // MAXACTION
    uint64_t max_action_interruptible = 10000; // MAXACTION_INTERRUPTIBLE
    uint64_t max_errors = 0, max_skipped = 100;
    uint64_t ring_bytes = 16 << 20;
    bool filter_target = false;          // -c, -x: kernel handlers run only in the target's process tree
    std::vector<plan::GroupName> groups; // --container and others: kernel handlers run only for tasks in these
    bool timing = false;                 // -t
    bool tells_context = false;          // records of prints have their time and task
    bool one_by_one = false;             // -u: see SessionOptions::one_by_one
    bool tells_hits = false;             // each hit sends a record: Plan::tells_hits
    bool suppress_errors = false;        // --suppress-handler-errors
    bool may_goto =
        true; // the kernel has may_goto (6.9, bpf: Introduce may_goto instruction); else loops use bpf_loop()
    bool kernel_types = true; // the kernel has BTF, so its structures can be read with plain loads
    bool syscall_events =
        false; // system calls are probed at perf events of their tracepoints (runtime/kernel/preemption.h)
    // The kernel has session links. `target_program`: the target's own program, for which a session link has no
    // advantage.
    bool uprobe_session = false;
    std::string target_program;
    // Each value gives different code with the same effect. Used if the kernel's JIT compiler fails on some
    // arrangements (KernelObject::load).
    uint32_t arrangement = 0;
    std::string script;            // name in messages
    std::string module;            // module_name()
    const CCode* c_code = nullptr; // the script's C (codegen/c), if it has any
};

// The lowered modules as text, for --dump=ir and --dump=bpf.
struct CodegenDumps {
    bool want_ir = false, want_bpf = false;
    std::string ir;  // LLVM IR of both modules, optimized
    std::string bpf; // BPF assembly
};

// Whether CodegenOptions::syscall_events applies to this handler.
bool is_at_syscalls(const hir::Handler& handler);

// Translates the program. Errors: what LLVM cannot compile, for example a handler that exceeds BPF's stack (with its
// place).
Result<plan::Plan> generate(const hir::Program& program, const Sources& sources, const CodegenOptions& options,
                            CodegenDumps* dumps);

} // namespace sonde
