// Runs clang on C text.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

// The result of one run of clang. If the text has errors, `messages` has these, and `failure` is empty.
struct ClangOutput {
    std::string bitcode;  // empty after an error
    std::string messages; // "FILE:LINE:COLUMN: error: ..." lines
    std::string failure;  // why clang ended without a result, for example after a crash or a timeout
};

// Compiles the text. Errors: no suitable clang is installed, or it cannot be run. clang must not be newer than the
// linked LLVM.
Result<ClangOutput> run_clang(const std::string& text);

} // namespace sonde
