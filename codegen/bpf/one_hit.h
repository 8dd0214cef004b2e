// A hit that several handlers share, as they sit at the same place of a program or of the kernel: all of them run for
// it, whichever ends the session.
//
// An error, or exit(), stops all handlers at once by the session's state, which each looks at first. Those that the
// same hit still leads to shall run all the same. The kernel runs them one after another in the thread that was hit, so
// a handler that finds the session stopped at its end leaves a note, in the data area, of the thread, the place, and
// which probe it is. A handler that finds the session stopped at its beginning runs if the note is of its own thread
// and place and of a probe before it in the script: the kernel runs them in the script's order
// (runtime/attach/attach.cc). At the thread's next hit of that place the note is of the last of them, after which none
// comes. Scripts without such a place pay nothing for this; in the others each handler has one load and branch more at
// its end, below a nanosecond.
//
// The session's end has to wait for the handlers of such a hit: its own probes see all that they have done. So who ends
// the session says of which thread's hit that is (`ending_task` of the session's words) before the session can know
// that it ends, and the last handler of the hit takes it back (runtime/session.cc).
//
// Where the context has the address of the instruction that was hit, that is the place: handlers may share some of
// their points. Elsewhere (returns from the kernel's functions, trampolines, tracepoints, system calls, beginnings and
// ends of processes) handlers share a place if all of their points are the same.
//
// The thread is known by the kernel's address of it, as all processors idle under one number.
//
// A handler with a condition of its own is no part of this, as in SystemTap; nor are samples, where the kernel runs
// each handler for an event of its own, and handlers whose answer the kernel goes by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/bpf/context.h"
#include "codegen/environment.h"

namespace sonde {

class OneHit {
  public:
    explicit OneHit(BpfContext& bpf) : bpf_(bpf), e_(bpf.e) {}
    // At a program's beginning: goes on if the session runs, or if this hit has begun while it did.
    void go_if_running();
    // The handler is about to end the session: the hit may still lead to others.
    void expect_more();
    // At a program's end, with the error that it ends by, or 0.
    void note_end(llvm::Value* error);
    // i1: a handler before this one has told an error of the same hit. Null: none can have.
    llvm::Value* has_failed();

  private:
    struct Neighbours {
        bool before = false, after = false; // in the script, at one of the handler's places
    };
    Neighbours neighbours();
    // The first and the last handler of each place.
    using Place = std::tuple<std::string, uint64_t, plan::ProbeKind>;
    using Places = std::map<Place, std::pair<size_t, size_t>>;
    static std::vector<Place> places_of(const hir::Handler& handler);
    const Places& places();
    // Some place of the script has several handlers.
    bool is_any_shared();
    llvm::Value* ending_task() const;
    // Gives whether the word was 0; otherwise it stays.
    llvm::Value* set_first(llvm::Value* word, llvm::Value* value);
    // The hit leads to no handler after this one.
    void expect_no_more();
    llvm::Value* field(uint64_t at) const;
    // The current thread, and where it was hit, as the note has them.
    llvm::Value* thread();
    llvm::Value* place();
    // The note is of this thread and place.
    llvm::Value* is_of_hit();

    BpfContext& bpf_;
    Emitter& e_;
    std::optional<Places> places_;
    std::optional<bool> is_any_shared_;
};

} // namespace sonde
