// The values that a handler works with while it runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/plan/plan.h"

namespace llvm {
class Value;
}

namespace sonde {

class Emitter;

// Words in memory that a running handler keeps. Functions get the addresses of `error_site` and `budget`; the other
// words are at fixed distances from these.
struct HandlerWords {
    int64_t error_site; // site of the pending error; 0 if there is no error
    plan::ErrorDetails error_details;
    int64_t budget;   // statements left (MAXACTION)
    int64_t decision; // the handler's answer to the kernel
    int64_t outcome;  // BPF with -t: plan::HitOutcome
};

// HandlerWords::error_site is the number of a site (PlanState::add_site), with these bits:
constexpr int64_t with_argument = int64_t{1} << 32; // the error's message ends with a number
constexpr int64_t with_text = int64_t{1} << 33;     // error(): the text is the message
constexpr int64_t past_catching = int64_t{1} << 34; // `try` does not catch this error, for example MAXACTION
// The value of `error_site` after abort(), which leaves the handler as an error does. It includes `past_catching`.
constexpr int64_t abort_site = -1;

// The hidden arguments of every function of a module.
struct Environment {
    llvm::Value* context = nullptr;    // BPF: the program's context; host: the session
    llvm::Value* frame = nullptr;      // this function's frame; null in a BPF handler that does not need one
    bool has_frame = false;            // whether any caller provides a frame
    llvm::Value* tokens = nullptr;     // tokenize()'s state: u64 position, then a slot with the text; or null
    llvm::Value* matches = nullptr;    // state for matched() (rtlib/regex.h), or null
    llvm::Value* stacks = nullptr;     // BPF: struct sonde_stacks (runtime/plan/stack.h), or null
    llvm::Value* scan = nullptr;       // BPF: memory for this function's foreach loops, or null
    llvm::Value* data = nullptr;       // the data area
    llvm::Value* error = nullptr;      // HandlerWords::error_site
    llvm::Value* error_text = nullptr; // slot with the text of error(), or null
    llvm::Value* batch = nullptr;      // BPF: struct sonde_batch, if the handler sends several records; or null
    llvm::Value* budget = nullptr;     // HandlerWords::budget
    llvm::Value* outcome = nullptr;    // HandlerWords::outcome, or null
    llvm::Value* row = nullptr;        // i32: the probe point's row
    llvm::Value* probe = nullptr;      // i64, BPF: the probe's number, for counting; not in functions
    llvm::Value* task = nullptr;       // i64, BPF: the task that the event is about; 0 if it is the current one
    llvm::Value* can_wait = nullptr;   // i64, BPF: 1 if a read may wait for a page that is not in memory
    // BPF, in handlers of system calls only. Functions compute these themselves.
    llvm::Value* call_registers = nullptr; // i64: hir::Argument::call_registers; null if unused
    llvm::Value* in_32_bit_call = nullptr; // i64: the result of __in_32_bit_call()
};

// Names in a module by which its passes find functions and arguments.
constexpr const char* once_prefix = "once_";      // begins the names of functions that are compiled once
constexpr const char* can_wait_name = "can_wait"; // Environment::can_wait as an argument

// Memory that a handler and the functions it calls need besides the BPF stack, and what they do.
struct Needs {
    bool frame = false;   // strings, keys with strings, statistics
    bool scan = false;    // foreach over an array
    bool tokens = false;  // tokenize()
    bool matches = false; // matched() and its relatives
    bool stacks = false;  // backtrace(), ubacktrace() and their relatives, in the kernel
    bool counter = false; // @perf()
};

// The address of a word of ErrorDetails at this offset.
llvm::Value* error_details(Emitter& e, const Environment& env, uint64_t field);
// The address of the number at the end of the pending error's message.
llvm::Value* error_argument(Emitter& e, const Environment& env);
// The address of HandlerWords::decision.
llvm::Value* decision_place(Emitter& e, const Environment& env);

} // namespace sonde
