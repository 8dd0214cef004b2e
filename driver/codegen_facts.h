// Facts that the code generator needs and that no option gives: about the kernel, the target, and the script's texts.
#pragma once

#include "base/result.h"
#include "codegen/c/compile.h"
#include "codegen/emit/facts.h"
#include "codegen/layout.h"
#include "driver/options.h"
#include "driver/translation.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Describes the kernel to the compiler of C code in scripts. `t` must outlive the result.
CKernel kernel_for_c(Translation& t);

// Collects the facts that decide how handlers are compiled, from the running kernel or the kernel of -r.
CodegenFacts find_codegen_facts(const Options& options, const Translation& t, const hir::Program& program);

// Chooses the arrays to keep with the threads. Nothing outside can read their elements, so this depends on the
// session's outputs.
TaskArrays find_task_arrays(const Options& options, const Translation& t, const hir::Program& program);
// Whether the session shows all arrays, not only those that the script prints.
bool shows_arrays(const SinkOptions& sinks);

// Adds the script's compiled C code, which must outlive `facts`; null if the script has no C code. For -p4, also adds
// the parts of a saved plan: the texts, and the kernel that the plan fits. Errors: the types of a kernel module cannot
// be read.
Result<void> add_plan_facts(CodegenFacts& facts, Translation& t, const Options& options, const hir::Program& program,
                            const CCode* c_code);

} // namespace sonde
