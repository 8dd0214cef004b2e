// Lowers functions, and provides the common parts of functions and handlers.
#pragma once

#include <vector>

#include "frontend/hir/hir.h"

namespace llvm {
class Function;
class Value;
} // namespace llvm

namespace sonde {

struct Lowerer;

// Calls a function of the script. A string result is written to `slot`, or to a new slot if it is null.
llvm::Value* lower_call(Lowerer& l, const hir::Call& expr, llvm::Value* slot = nullptr);
// The LLVM function; the first call lowers its body.
llvm::Function* declare_function(Lowerer& l, const hir::Function& function);

// Prefix of the names of functions that are compiled once.
constexpr const char* once_prefix = "once_";
// The name of the argument that says whether a read may wait.
constexpr const char* can_wait_name = "can_wait";

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
