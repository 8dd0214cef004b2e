// Facts that the code generator needs and that no option tells: about the kernel, the target, and the texts.
#pragma once

#include "base/result.h"
#include "codegen/c/compile.h"
#include "codegen/codegen.h"
#include "driver/options.h"
#include "driver/translation.h"
#include "frontend/hir/hir.h"

namespace sonde {

// The kernel of the translation, as C in scripts needs it. `t` must outlive it.
CKernel kernel_for_c(Translation& t);

// Asks the kernel, or the other one of -r, for the facts that decide how handlers are compiled.
CodegenFacts find_codegen_facts(const Options& options, const Translation& t, const hir::Program& program);

// Adds the script's C, and for -p4 what a saved plan keeps: its texts, and the kernel that it fits. Errors: a module of
// the kernel whose types cannot be read.
Result<void> add_plan_facts(CodegenFacts& facts, Translation& t, const Options& options, const CCode* c_code);

} // namespace sonde
