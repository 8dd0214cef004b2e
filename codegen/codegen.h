// Translates HIR to a plan: lowers every handler once, through Target, to a BPF object or to a host object.
#pragma once

#include <string>

#include "base/result.h"
#include "base/source.h"
#include "codegen/emit/facts.h"
#include "codegen/layout.h"
#include "frontend/hir/hir.h"
#include "options/translate.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

// The lowered modules as text, for --dump=ir and --dump=bpf.
struct CodegenDumps {
    bool want_ir = false, want_bpf = false;
    std::string ir;  // LLVM IR of both modules, optimized
    std::string bpf; // BPF assembly
};

// Translates the program to a complete plan. Errors: what LLVM cannot compile, for example a handler that exceeds BPF's
// stack (with its place). `in_tasks`: the arrays to keep with the threads (frontend/hir/thread_arrays.h). `shared`: as
// for analyze_part(). The plan's globals then have their place in the session, and the caller adds the new ones to
// `shared`.
Result<plan::Plan> generate(const hir::Program& program, const Sources& sources, const Translate& translate,
                            const CodegenFacts& facts, const TaskArrays& in_tasks, CodegenDumps* dumps,
                            const plan::SharedGlobals* shared = nullptr);

} // namespace sonde
