// The script's C to LLVM bitcode for BPF, by clang.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/diag.h"
#include "base/result.h"
#include "codegen/c/c_code.h"
#include "codegen/codegen.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Compiles all functions in C that the program calls; nullopt: there are none. `options`: those that handlers are
// compiled with. `kernel_btf` gives the types of the kernel that is translated for, and is asked only where there is C.
// What is wrong with the script goes to diags; then the code is of no use. Errors: there is no clang that fits.
Result<std::optional<CCode>> compile_c_code(const hir::Program& program, const CodegenOptions& options,
                                            const std::function<Result<std::string>()>& kernel_btf, Diagnostics& diags);

} // namespace sonde
