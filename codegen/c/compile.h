// Compiles the script's C to LLVM bitcode for BPF with clang.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/diag.h"
#include "base/result.h"
#include "codegen/c/module_types.h"
#include "codegen/emit/c_code.h"
#include "codegen/emit/facts.h"
#include "frontend/hir/hir.h"

namespace sonde {

// The kernel for which the script is compiled.
struct CKernel {
    std::string release;    // as printed by uname -r
    std::string compatible; // --compatible
    CModules modules;
};

// Compiles all C functions that the program calls; nullopt if it calls none, or after errors in the script, which are
// reported to `diags`. `options`: must be the same as for the handlers. Errors: no suitable clang.
Result<std::optional<CCode>> compile_c_code(const hir::Program& program, const Translate& translate,
                                            const CodegenFacts& facts, const CKernel& kernel, Diagnostics& diags);

} // namespace sonde
