// Handlers that share a hit; one_hit.h explains the problem and the idea.
//
// HitNote in the data area has three words: the probe (its number plus 1, and the flag `told`), the place, and the
// thread. An example with three probes at one place, of which the first calls exit() in thread T:
//
//     event                          state      note
//     probe 0 begins                 Running    0
//     probe 0 calls exit(), ends     Stopping   probe 1, place P, thread T
//     probe 1 begins: 1 <= 1         Stopping   probe 2, ...                 runs
//     probe 2 begins: 2 <= 2         Stopping   probe 3, ...                 runs
//     probe 0 begins in T again      Stopping   3 > 0, so it does not run
//
// Other threads find another thread in the note, and do not run either.
//
// The order of the stores matters. The probe's word is claimed first, by compare-and-swap, so that only one thread
// writes the note. Place and thread follow. A reader on another processor may see the note half written, but then the
// thread is still 0, which no task has as its address.
#include "codegen/bpf/one_hit.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// HitNote::probe is the probe's number plus 1, or 0 if nothing is recorded.
constexpr int64_t told = int64_t{1} << 32; // flag in `probe`: the session was stopped by an error, not by exit()

bool is_candidate(const hir::Handler& handler) {
    return handler.in_kernel && plan::tells_hits(handler.kind) && !plan::decides(handler.kind) && !handler.condition;
}

// Whether the context contains the address of the instruction that was hit, which identifies the point.
bool tells_instruction(plan::ProbeKind kind) {
    return plan::is_uprobe(kind) || (plan::is_kernel_breakpoint(kind) && !plan::traits(kind).at_return);
}

// Two points are the same if these texts are equal: everything that attaching needs.
std::string text_of(const plan::Point& point) {
    return fmt::format("{}:{}+{} {} {} {}\n", point.module, point.symbol, point.offset, point.number, point.program,
                       point.pid);
}

} // namespace

std::vector<OneHit::Place> OneHit::places_of(const hir::Handler& handler) {
    std::vector<Place> out;
    if (plan::is_uprobe(handler.kind)) {
        for (const plan::Point& point : handler.points)
            out.emplace_back(point.path, point.offset, handler.kind);
    } else if (tells_instruction(handler.kind)) {
        for (const plan::Point& point : handler.points)
            out.emplace_back(text_of(point), 0, handler.kind);
    } else {
        std::vector<std::string> texts;
        for (const plan::Point& point : handler.points)
            texts.push_back(text_of(point));
        std::sort(texts.begin(), texts.end());
        out.emplace_back(fmt::format("{}", fmt::join(texts, "")), 0, handler.kind);
    }
    return out;
}

const OneHit::Places& OneHit::places() {
    if (!places_) {
        places_.emplace();
        const auto& handlers = bpf_.state.program.handlers;
        for (size_t i = 0; i < handlers.size(); i++)
            if (is_candidate(*handlers[i]))
                for (Place& place : places_of(*handlers[i]))
                    places_->try_emplace(std::move(place), i, i).first->second.second = i;
    }
    return *places_;
}

OneHit::Neighbours OneHit::neighbours() {
    const hir::Handler& own = *bpf_.state.program.handlers[bpf_.probe];
    Neighbours out;
    // The entry part of a session program only saves values.
    if (bpf_.saves_entry || bpf_.state.translate.unoptimized || !is_candidate(own))
        return out;
    for (const Place& place : places_of(own)) {
        const auto& [first, last] = places().at(place);
        out.before = out.before || first < bpf_.probe;
        out.after = out.after || last > bpf_.probe;
    }
    return out;
}

llvm::Value* OneHit::field(uint64_t at) const { return e_.offset(bpf_.data, hit_note_offset(bpf_.state.plan) + at); }

llvm::Value* OneHit::thread() { return helper(e_, get_current_task, {}); }

llvm::Value* OneHit::place() {
    const hir::Handler& own = *bpf_.state.program.handlers[bpf_.probe];
    if (tells_instruction(own.kind))
        return context_word(e_, bpf_.argument, e_.registers().offset(e_.registers().instruction_pointer));
    // Addresses of instructions are larger than this number, so the two cannot be confused.
    return e_.number(static_cast<int64_t>(places().at(places_of(own)[0]).first) + 1);
}

llvm::Value* OneHit::is_of_hit() {
    llvm::Value* noted_thread = e_.CreateLoad(e_.i64(), field(offsetof(HitNote, thread)), true);
    llvm::Value* noted_place = e_.CreateLoad(e_.i64(), field(offsetof(HitNote, place)), true);
    llvm::Value* same_thread = e_.CreateICmpEQ(thread(), noted_thread);
    llvm::Value* same_place = e_.CreateICmpEQ(place(), noted_place);
    return e_.CreateAnd(same_thread, same_place);
}

// Where a hit ends if the session does not run. Contains a tail call that never runs.
//
// The problem: since 6.13, the kernel gives a program a stack for each processor, without a lock. It relies on the
// mechanisms that run a program on a processor only once at a time. Uprobes do not do this. Their programs can be
// preempted, and the same program then runs for another thread, on the same stack:
//
//     thread 1   stores a key on the stack
//     thread 2   preempts it, stores another key at this place
//     thread 1   saves its values under the wrong key
//
// The idea: programs with a tail call do not get such a stack (kernel/bpf/verifier.c, check_max_stack_depth()). The
// kernel looks for the instruction before it removes the code that cannot run. So this call is in such code, where the
// verifier does not check it: older kernels refuse tail calls in programs that may sleep.
llvm::BasicBlock* OneHit::end_of_stopped() {
    if (!plan::is_uprobe(bpf_.kind))
        return bpf_.out;
    llvm::BasicBlock *here = e_.GetInsertBlock(), *end = e_.block("not_running"), *never = e_.block("never");
    e_.SetInsertPoint(end);
    e_.CreateCondBr(e_.CreateICmpNE(e_.opaque(e_.number(0)), e_.number(0)), never, bpf_.out);
    e_.SetInsertPoint(never);
    helper(e_, tail_call, {bpf_.argument, e_.null(), e_.number(0)});
    e_.CreateBr(bpf_.out);
    e_.SetInsertPoint(here);
    return end;
}

void OneHit::go_if_running() {
    llvm::Value* runs = e_.CreateICmpEQ(e_.CreateLoad(e_.i64(), bpf_.data), e_.number(plan::Running));
    const Neighbours near = neighbours();
    llvm::BasicBlock *go = e_.block("go"), *end = end_of_stopped();
    if (!near.before && !near.after) {
        e_.CreateCondBr(runs, go, end);
        e_.SetInsertPoint(go);
        return;
    }
    llvm::BasicBlock *stopped = e_.block("stopped"), *same = e_.block("same_hit");
    e_.CreateCondBr(runs, go, stopped);
    e_.SetInsertPoint(stopped);
    e_.CreateCondBr(is_of_hit(), same, end);
    e_.SetInsertPoint(same);
    llvm::Value* note = e_.CreateLoad(e_.i64(), field(offsetof(HitNote, probe)), true);
    llvm::Value* noted = e_.CreateAnd(note, e_.number(told - 1));
    llvm::BasicBlock* late = e_.block("late");
    llvm::Value* is_before =
        e_.CreateAnd(e_.CreateICmpNE(noted, e_.number(0)), e_.CreateICmpULE(noted, e_.number(int64_t{bpf_.probe})));
    e_.CreateCondBr(is_before, late, end);
    e_.SetInsertPoint(late);
    e_.CreateStore(e_.CreateOr(e_.CreateAnd(note, e_.number(told)), e_.number(int64_t{bpf_.probe} + 1)),
                   field(offsetof(HitNote, probe)));
    e_.CreateBr(go);
    e_.SetInsertPoint(go);
}

bool OneHit::is_any_shared() {
    if (!is_any_shared_)
        is_any_shared_ = !bpf_.state.translate.unoptimized && std::ranges::any_of(places(), [](const auto& place) {
            return place.second.first != place.second.second;
        });
    return *is_any_shared_;
}

llvm::Value* OneHit::set_first(llvm::Value* word, llvm::Value* value) {
    auto* exchange =
        e_.CreateAtomicCmpXchg(word, e_.number(0), value, llvm::Align(8), llvm::AtomicOrdering::SequentiallyConsistent,
                               llvm::AtomicOrdering::SequentiallyConsistent);
    return e_.CreateICmpEQ(e_.CreateExtractValue(exchange, 0), e_.number(0));
}

llvm::Value* OneHit::ending_task() const { return e_.offset(bpf_.data, offsetof(plan::SessionWords, ending_task)); }

void OneHit::expect_more() {
    if (is_any_shared())
        set_first(ending_task(), thread());
}

void OneHit::expect_no_more() {
    llvm::BasicBlock *stopped = e_.block("stopped"), *own = e_.block("own_end"), *noted = e_.block("noted");
    llvm::Value* state = e_.CreateLoad(e_.i64(), bpf_.data, true);
    e_.CreateCondBr(e_.CreateICmpEQ(state, e_.number(plan::Running)), noted, stopped);
    e_.SetInsertPoint(stopped);
    llvm::Value* ending = e_.CreateLoad(e_.i64(), ending_task(), true);
    e_.CreateCondBr(e_.CreateICmpEQ(ending, thread()), own, noted);
    e_.SetInsertPoint(own);
    e_.CreateStore(e_.number(0), ending_task());
    e_.CreateBr(noted);
    e_.SetInsertPoint(noted);
}

void OneHit::note_end(llvm::Value* error) {
    if (!neighbours().after) {
        if (!bpf_.saves_entry && is_any_shared())
            expect_no_more();
        return;
    }
    llvm::BasicBlock *stopped = e_.block("stopped"), *noted = e_.block("noted"), *note = e_.block("note"),
                     *free = e_.block("no_note");
    llvm::Value* state = e_.CreateLoad(e_.i64(), bpf_.data, true);
    e_.CreateCondBr(e_.CreateICmpEQ(state, e_.number(plan::Running)), noted, stopped);
    e_.SetInsertPoint(stopped);
    // abort() also stops the handlers that share the hit.
    e_.CreateCondBr(e_.CreateICmpEQ(error, e_.number(abort_site)), noted, free);
    e_.SetInsertPoint(free);
    llvm::Value* own = e_.CreateOr(e_.CreateSelect(e_.CreateICmpNE(error, e_.number(0)), e_.number(told), e_.number(0)),
                                   e_.number(int64_t{bpf_.probe} + 1));
    // Only the first handler records its hit, in whichever thread.
    e_.CreateCondBr(set_first(field(offsetof(HitNote, probe)), own), note, noted);
    e_.SetInsertPoint(note);
    e_.CreateStore(place(), field(offsetof(HitNote, place)));
    e_.CreateStore(thread(), field(offsetof(HitNote, thread)));
    e_.CreateBr(noted);
    e_.SetInsertPoint(noted);
}

llvm::Value* OneHit::has_failed() {
    if (!neighbours().before)
        return nullptr;
    llvm::Value* probe = e_.CreateLoad(e_.i64(), field(offsetof(HitNote, probe)), true);
    llvm::Value* is_told = e_.CreateICmpEQ(probe, e_.number(told | (int64_t{bpf_.probe} + 1)));
    return e_.CreateAnd(is_told, is_of_hit());
}

} // namespace sonde
