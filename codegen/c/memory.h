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

struct CLimits {
    uint64_t max_string = 512; // MAXSTRINGLEN, a power of two
    uint64_t slot_bytes = 0;   // of a text's slot, which has more room
    bool may_goto = true;      // CodegenOptions::may_goto
    uint64_t turns = 1000;     // MAXACTION: of all loops of one call together
};

// From the bitcode that clang made of the functions to the code that handlers are linked with. What cannot be goes to
// diags; then there is no code. Errors: bitcode that LLVM cannot read.
Result<std::optional<CCode>> secure_c_code(const std::string& bitcode,
                                           const std::vector<const hir::Function*>& functions, const CLimits& limits,
                                           Diagnostics& diags);

} // namespace sonde
