// What makes C safe where the verifier knows nothing of its pointers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/result.h"
#include "codegen/c/c_code.h"
#include "frontend/hir/hir.h"

namespace sonde {

// From the bitcode that clang made of the functions to the code that handlers are linked with. What cannot be goes to
// diags; then there is no code. Errors: bitcode that LLVM cannot read.
Result<std::optional<CCode>> secure_c_code(const std::string& bitcode,
                                           const std::vector<const hir::Function*>& functions, uint64_t max_string,
                                           Diagnostics& diags);

} // namespace sonde
