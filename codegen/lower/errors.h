// Errors of the script while it runs: a pending one is a word of the environment, and code goes on at
// BodyState::on_error.
#pragma once

#include <cstdint>
#include <string>

#include "base/source.h"
#include "frontend/hir/hir.h"

namespace llvm {
class Value;
}

namespace sonde {

struct Lowerer;

// HandlerWords::error_site is the number of a site (PlanState::add_site), with these bits.
// An error whose message has a number at its end.
constexpr int64_t with_argument = int64_t{1} << 32;
// error(): the text is the message.
constexpr int64_t with_text = int64_t{1} << 33;
// MAXACTION: try does not get rid of it. Set in abort()'s, too.
constexpr int64_t past_catching = int64_t{1} << 34;

// Raises an error; the builder's block then ends. `argument` is the number that the message ends with.
void raise(Lowerer& l, const std::string& message, Range range, llvm::Value* argument = nullptr);
// With a text that is known only then, as error() does.
void raise_text(Lowerer& l, llvm::Value* text, Range range);
void raise_if(Lowerer& l, llvm::Value* condition, const std::string& message, Range range,
              llvm::Value* argument = nullptr);
// Makes it the pending one, and nothing more.
void set_error(Lowerer& l, llvm::Value* site, llvm::Value* argument);
// Goes on if the call gave no error; else with the error, which then tells of the call too.
void check_call(Lowerer& l, const hir::Call& expr, llvm::Value* status);
// Counts statements against MAXACTION: once an iteration or call, for all that it contains.
void spend(Lowerer& l, uint64_t statements, Range range);
// i1, of the pending one.
llvm::Value* is_past_catching(Lowerer& l);
llvm::Value* has_error_text(Lowerer& l);
// Sends the pending one to the runtime.
void report_error(Lowerer& l);

} // namespace sonde
