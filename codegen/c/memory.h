// Makes the script's C safe: the verifier knows nothing about the pointers in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/result.h"
#include "codegen/emit/c_code.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Options and kernel features on which the rewriting depends.
struct CLimits {
    uint64_t max_string = 512; // MAXSTRINGLEN, in bytes; a power of two
    uint64_t slot_bytes = 0;   // bytes of a string's slot, which is larger
    bool may_goto = true;      // CodegenFacts::may_goto
    uint64_t turns = 1000;     // MAXACTION: iterations of all loops of one call together
};

// Turns the bitcode that clang compiled from these functions into code that handlers can be linked with. Reports C that
// BPF cannot run to `diags` and returns nullopt then. Errors: LLVM cannot read the bitcode.
Result<std::optional<CCode>> secure_c_code(const std::string& bitcode,
                                           const std::vector<const hir::Function*>& functions, const CLimits& limits,
                                           Diagnostics& diags);

} // namespace sonde
