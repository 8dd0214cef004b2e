// Handlers that share a hit: several probes can be at the same instruction. If one of them ends the session, the others
// still run for this hit.
//
// The problem: an error or exit() stops all handlers at once, through the session's state, which each handler checks
// first. But a script with two probes at `f` expects both to see the call of `f` in which the first one calls exit().
//
// The idea: the kernel runs the handlers of a hit one after the other, in the script's order
// (runtime/attach/attach.cc), in the thread that was hit. A handler that finds the session stopped at its end records
// the thread, the place and its own number in the data area (HitNote). A handler that finds the session stopped at its
// beginning still runs if the record has its own thread and place, and a smaller probe number. At the thread's next hit
// of the same place, the record has the number of the last handler, so no handler runs. Scripts without shared places
// pay nothing. In others each handler has one more load and branch at its end, which takes less than a nanosecond.
//
// The session's end must wait for these handlers, because `probe end` sees their results. The handler that ends the
// session therefore first stores its thread in `ending_task` (SessionWords), and the last handler of the hit clears it
// (runtime/engine/session.cc).
//
// A place is the address of the hit instruction if the context has it: then handlers may share some of their points
// only. For returns of kernel functions, trampolines, tracepoints, system calls and process events the context has no
// such address. There, handlers share a place only if all their points are equal.
//
// A thread is identified by the address of its task_struct, because the idle tasks of all processors have the number 0.
//
// Not included are:
// * handlers with a condition, as in SystemTap
// * samples, because the kernel has a separate event for each handler
// * handlers whose result the kernel uses
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/bpf/context.h"
#include "codegen/emit/environment.h"

namespace sonde {

// Functions emit code for the program that is being lowered. In scripts without shared places they emit only the check
// of the session's state.
class OneHit {
  public:
    explicit OneHit(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    // Call it at a program's beginning. Goes on if the session runs, or if it ran when this hit began.
    void go_if_running();
    // Call it before the handler ends the session, if other handlers may follow for this hit.
    void expect_more();
    // Call it at a program's end. `error`: the error that ends the handler, or 0.
    void note_end(llvm::Value* error);
    // i1: whether an earlier handler reported an error for the same hit. Null: no handler can have.
    llvm::Value* has_failed();

  private:
    llvm::BasicBlock* end_of_stopped();
    struct Neighbours {
        bool before = false, after = false; // in the script, at one of the handler's places
    };
    Neighbours neighbours();
    // The first and the last handler at each place.
    using Place = std::tuple<std::string, uint64_t, plan::ProbeKind>;
    using Places = std::map<Place, std::pair<size_t, size_t>>;
    static std::vector<Place> places_of(const hir::Handler& handler);
    const Places& places();
    // Whether any place of the script has several handlers.
    bool is_any_shared();
    // The address of SessionWords::ending_task.
    llvm::Value* ending_task() const;
    // Stores `value` if the word is 0. Returns whether it was.
    llvm::Value* set_first(llvm::Value* word, llvm::Value* value);
    // Call it if no handler follows for this hit.
    void expect_no_more();
    // The address of a field of HitNote.
    llvm::Value* field(uint64_t at) const;
    // The current thread, and the place of the hit, in the form that HitNote stores.
    llvm::Value* thread();
    llvm::Value* place();
    // i1: whether HitNote is about this thread and place.
    llvm::Value* is_of_hit();

    BpfContext& bpf_;
    Emitter& e_;
    std::optional<Places> places_;
    std::optional<bool> is_any_shared_;
};

} // namespace sonde
