// The beginning of functions and handlers: the environment and the locals.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/hir/hir.h"

namespace llvm {
class Function;
class Value;
} // namespace llvm

namespace sonde {

struct Lowerer;

// The number of hidden arguments, which come before those of the script.
constexpr unsigned fixed_arguments = 12;
// Fills the environment from these arguments.
void take_environment(Lowerer& l, llvm::Function* function);
// Bytes of HandlerWords: pending error, rest of MAXACTION, decision, and with -t the outcome. A slot for the error's
// text may follow.
uint64_t environment_bytes(Lowerer& l);
// Fills the environment with the addresses of these words, which begin at `at`.
void place_environment(Lowerer& l, llvm::Value* at, bool has_text);
// Allocates these locals; they begin as 0 or "".
void begin_locals(Lowerer& l, const std::vector<hir::Local*>& locals);

} // namespace sonde
