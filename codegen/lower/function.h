// Functions, and what their bodies have in common with handlers'.
#pragma once

#include <vector>

#include "frontend/hir/hir.h"

namespace llvm {
class Function;
class Value;
} // namespace llvm

namespace sonde {

struct Lowerer;

llvm::Value* lower_call(Lowerer& l, const hir::Call& expr, llvm::Value* slot = nullptr);
// Its code, made where it is asked for first.
llvm::Function* declare_function(Lowerer& l, const hir::Function& function);

// Begins the names of functions that are compiled once.
constexpr const char* once_prefix = "once_";
// The argument that says whether memory may be waited for.
constexpr const char* can_wait_name = "can_wait";

// A function's arguments before the script's own.
constexpr unsigned fixed_arguments = 12;
// Fills the environment from these arguments.
void take_environment(Lowerer& l, llvm::Function* function);
// The pending error, what is left of MAXACTION, what the handler decides and with -t what becomes of the hit; a text's
// slot may follow.
uint64_t environment_bytes(Lowerer& l);
void place_environment(Lowerer& l, llvm::Value* at, bool has_text);
// Makes room for them, all 0 or "".
void begin_locals(Lowerer& l, const std::vector<hir::Local*>& locals);

} // namespace sonde
