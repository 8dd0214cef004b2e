// Counts what becomes of each hit, in the kernel.
//
// Without -t, a program counts only errors and losses, at the place where they happen. It also sets marks, which record
// that something happened at all. Once a mark is set, it costs a load and a branch, and never a write, so processors
// can share its cache line.
#pragma once

#include <cstddef>

#include "codegen/bpf/context.h"
#include "codegen/bpf/one_hit.h"
#include "codegen/emit/environment.h"
#include "runtime/plan/counts.h"

namespace sonde {

// Functions emit code at the current place of the program that is being lowered.
class BpfAccounting {
  public:
    BpfAccounting(BpfContext& bpf, OneHit& one_hit) : bpf_(bpf), e_(bpf.e), one_hit_(one_hit) {}
    // With -t: starts the clock. Needs the row of the probe point; call it once per program.
    void begin_timing(Environment& env);
    // Counts a hit of the probe: sets its mark, and with -t adds 1 to its count.
    void count_hit(Environment& env);
    // Undoes count_hit(): this turns out not to be a hit of the probe.
    void take_back_hit();
    // Sets the mark `what` of the row `index`, unless it is set already.
    void mark(plan::Mark what, llvm::Value* index);
    // Counts a call whose return the kernel does not report, because too many calls of the thread are pending. Works at
    // the entry and at the return.
    void count_full_returns();
    // Goes on only if the call's entry has saved the values that its return needs. Otherwise counts an unsaved call and
    // goes to `unsaved`.
    void go_if_saved(llvm::Value* is_saved, llvm::BasicBlock* unsaved);
    // Counts a hit that the handler cannot handle. `field`: the offset in ProbeCounts that counts the reason.
    void count_skip(size_t field);
    // Counts a lost record if the condition (an i1) holds.
    void lose_if(Environment& env, llvm::Value* condition);
    // Counts a soft error. If there are more than MAXERRORS, it stops all handlers. With suppressed errors it goes on
    // at `told`, except after a probe's first error.
    void count_error(Environment& env, llvm::BasicBlock* told);
    // With -t: adds the hit's outcome and time to the probe's row. Call it at the program's end.
    void record_outcome(Environment& env);

  private:
    // Adds 1 to a field of the probe's ProbeCounts and returns the old value. `probe`: the probe's number; null means
    // the one whose program is being lowered.
    llvm::Value* count(size_t field, llvm::Value* probe = nullptr);
    void count_if(llvm::Value* condition, size_t field);
    // Returns the value before.
    llvm::Value* add_timing(size_t field, llvm::Value* value);
    void add_square(llvm::Value* ns);
    void record_time();

    BpfContext& bpf_;
    Emitter& e_;
    OneHit& one_hit_;
    bool timed_ = false; // this program measures its time
    llvm::Value* started_ = nullptr;
    llvm::Value* timing_ = nullptr; // the row's ProbeTiming
};

} // namespace sonde
