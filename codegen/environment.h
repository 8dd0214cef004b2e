// What a handler works on while it runs, as the values that hold it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/plan.h"

namespace llvm {
class Value;
}

namespace sonde {

class Emitter;

// What a handler keeps in memory while it runs. Functions are handed the addresses of `error_site` and `budget`; the
// words after these are found by their distance.
struct HandlerWords {
    int64_t error_site; // of the pending error; 0: none
    plan::ErrorDetails error_details;
    int64_t budget;   // statements left (MAXACTION)
    int64_t decision; // what the kernel gets as the answer
    int64_t outcome;  // BPF with -t: plan::HitOutcome
};

// abort() leaves the handler as errors do, and nothing catches it: it stands where the site of an error would.
constexpr int64_t abort_site = -1;

// What every function of a module gets besides its arguments.
struct Environment {
    llvm::Value* context = nullptr;    // BPF: the program's context; host: the session
    llvm::Value* frame = nullptr;      // this function's frame; null in a BPF handler that needs none
    bool has_frame = false;            // that there is a frame, whoever calls
    llvm::Value* tokens = nullptr;     // what tokenize() takes apart: u64 position, then the text's slot; or null
    llvm::Value* matches = nullptr;    // what matched() tells of (rtlib/regex.h), or null
    llvm::Value* stacks = nullptr;     // BPF: struct sonde_stacks (runtime/symbols/stack.h), or null
    llvm::Value* scan = nullptr;       // BPF: where this function's foreach loops keep what they walk, or null
    llvm::Value* data = nullptr;       // the data area
    llvm::Value* error = nullptr;      // HandlerWords::error_site
    llvm::Value* error_text = nullptr; // slot with error()'s text, or null pointer
    llvm::Value* batch = nullptr;      // BPF: struct sonde_batch of a handler that sends several records, or null
    llvm::Value* budget = nullptr;     // HandlerWords::budget
    llvm::Value* outcome = nullptr;    // HandlerWords::outcome, or null
    llvm::Value* row = nullptr;        // i32: the probe point's row
    llvm::Value* probe = nullptr;      // i64, BPF: the probe's number, for what becomes of its hits; not in functions
    llvm::Value* task = nullptr;       // i64, BPF: the task that the event is about, where it is not the current one; 0
    llvm::Value* can_wait = nullptr;   // i64, BPF: 1 where memory that is not there may be waited for
    // BPF, of a system call's handler and not of its functions, which find out themselves.
    llvm::Value* call_registers = nullptr; // i64: hir::Argument::call_registers; null: nothing reads them
    llvm::Value* in_32_bit_call = nullptr; // i64: what __in_32_bit_call() gives
};

// What a handler, with the functions that it calls, needs besides the BPF stack.
struct Needs {
    bool frame = false;   // strings, keys with strings, statistics
    bool scan = false;    // foreach over an array
    bool tokens = false;  // tokenize()
    bool matches = false; // matched() and its relatives
    bool stacks = false;  // backtrace(), ubacktrace() and their relatives, in the kernel
    bool counter = false; // @perf()
};

// The address of a word of ErrorDetails, by its offset.
llvm::Value* error_details(Emitter& e, const Environment& env, uint64_t field);
// Of the number that an error's message ends with.
llvm::Value* error_argument(Emitter& e, const Environment& env);
// Of HandlerWords::decision.
llvm::Value* decision_place(Emitter& e, const Environment& env);

} // namespace sonde
