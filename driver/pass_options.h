// What the command line says to each pass, as that pass wants it.
#pragma once

#include <string>

#include "codegen/c/compile.h"
#include "codegen/codegen.h"
#include "driver/options.h"
#include "driver/translation.h"
#include "frontend/hir/hir.h"
#include "frontend/sema/sema.h"
#include "runtime/engine/session.h"

namespace sonde {

// The kernel that is translated for, as C in scripts wants it. `t` must outlive it.
CKernel kernel_for_c(Translation& t);
SemaOptions sema_options(const Options& options);
// Asks the kernel (the other one with -r) for what decides how handlers are compiled.
CodegenOptions codegen_options(const Options& options, const Translation& t, const hir::Program& program);
SessionOptions session_options(const Options& options);

} // namespace sonde
