// What becomes of each hit, as the kernel's side counts it.
//
// Without -t only what goes wrong is counted, where it goes wrong, and marks are set, which say that something has
// happened at all: a load and a branch once they are set, so that processors share their cache line.
#pragma once

#include <cstddef>

#include "codegen/bpf/context.h"
#include "codegen/bpf/one_hit.h"
#include "codegen/environment.h"

namespace sonde {

class BpfAccounting {
  public:
    BpfAccounting(BpfContext& bpf, OneHit& one_hit) : bpf_(bpf), e_(bpf.e), one_hit_(one_hit) {}
    // With -t, from here on: the row of the probe point is known. Once a program.
    void begin_timing(Environment& env);
    // The probe's hit begins: what Mark says, and with -t its number.
    void count_hit(Environment& env);
    // It is no hit after all.
    void take_back_hit();
    void mark(plan::Mark what, llvm::Value* index);
    // Of a return by the kernel's own bookkeeping, at a call's entry or its return.
    void count_full_returns();
    // Goes on only if the call's entry has saved what its return wants.
    void go_if_saved(llvm::Value* element);
    // The handler cannot run this time, for a reason that is this field of ProbeCounts.
    void count_skip(size_t field);
    // A record found no room.
    void lose_if(Environment& env, llvm::Value* condition);
    // More soft errors than MAXERRORS stop all handlers at once. Suppressed ones go on at `told` but for a probe's
    // first.
    void count_error(Environment& env, llvm::BasicBlock* told);
    // With -t, at the program's end.
    void record_outcome(Environment& env);

  private:
    // Adds 1 to a field of the probe's ProbeCounts; gives what was there before. `probe`: by default the one whose
    // program is being lowered.
    llvm::Value* count(size_t field, llvm::Value* probe = nullptr);
    void count_if(llvm::Value* condition, size_t field);
    void add_timing(size_t field, llvm::Value* value);
    void record_time();

    BpfContext& bpf_;
    Emitter& e_;
    OneHit& one_hit_;
    bool timed_ = false; // this program is
    llvm::Value* started_ = nullptr;
    llvm::Value* timing_ = nullptr; // the ProbeTiming of the row
};

} // namespace sonde
