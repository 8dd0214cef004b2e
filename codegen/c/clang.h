// Runs clang: C in, bitcode or messages out.
#pragma once

#include <string>

#include "base/result.h"

namespace sonde {

struct ClangOutput {
    std::string bitcode;  // empty: it refused
    std::string messages; // "FILE:LINE:COLUMN: error: ..." lines
    std::string failure;  // in words, if it ended without an answer: it crashed, or took too long
};

// Errors: no clang is installed that writes what the linked LLVM can read, or it could not be run.
Result<ClangOutput> run_clang(const std::string& text);

} // namespace sonde
