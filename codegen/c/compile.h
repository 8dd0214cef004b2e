// The script's C to LLVM bitcode for BPF, by clang.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/diag.h"
#include "base/result.h"
#include "codegen/c/c_code.h"
#include "codegen/c/module_types.h"
#include "codegen/codegen.h"
#include "frontend/hir/hir.h"

namespace sonde {

// The kernel that is translated for.
struct CKernel {
    std::string release;                      // as uname -r says it
    std::function<Result<std::string>()> btf; // its types; asked only where there is C
    std::string compatible;                   // --compatible
    CModules modules;
};

// Compiles all functions in C that the program calls; nullopt: there are none. `options`: those that handlers are
// compiled with. What is wrong with the script goes to diags; then the code is of no use. Errors: there is no clang
// that fits.
Result<std::optional<CCode>> compile_c_code(const hir::Program& program, const CodegenOptions& options,
                                            const CKernel& kernel, Diagnostics& diags);

} // namespace sonde
