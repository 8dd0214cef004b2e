// Runtime errors of the script. The pending error is a word of the environment; code continues at BodyState::on_error.
#pragma once

#include <cstdint>
#include <string>

#include "base/source.h"
#include "codegen/emit/environment.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/handler_errors.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// Raises an error; the current block ends. `argument`: the number at the message's end.
void raise(Lowerer& l, const plan::ErrorMessage& message, Range range, llvm::Value* argument = nullptr);
// Raises an error with a text that is known at run time only, as error() does.
void raise_text(Lowerer& l, llvm::Value* text, Range range);
// Raises an error if the condition (an i1) holds; code continues after the check.
void raise_if(Lowerer& l, llvm::Value* condition, const plan::ErrorMessage& message, Range range,
              llvm::Value* argument = nullptr);
// Makes this the pending error, without leaving.
void set_error(Lowerer& l, llvm::Value* site, llvm::Value* argument);
// Continues if the call succeeded. Otherwise adds the call to the pending error and continues at BodyState::on_error.
void check_call(Lowerer& l, const hir::Call& expr, llvm::Value* status);
// Subtracts statements from MAXACTION, once for each iteration or call, and raises an error if none are left.
void spend(Lowerer& l, uint64_t statements, Range range);
// i1: whether `try` cannot catch the pending error.
llvm::Value* is_past_catching(Lowerer& l);
// i1: whether the pending error has a text of error().
llvm::Value* has_error_text(Lowerer& l);
// Sends the pending error to the runtime.
void report_error(Lowerer& l);

} // namespace sonde
