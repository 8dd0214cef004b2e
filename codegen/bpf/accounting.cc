// Emits the code that counts hits, errors, losses and times.
//
// The problem: all processors run the same handler at the same time. If each hit wrote to a shared word, the processors
// would wait for each other's cache lines. This could cost more than the handler itself. On the other hand, no hit may
// disappear without a trace in the report.
//
// The idea is to use three kinds of memory, from cheap to expensive:
//
// * Marks: one byte for each row and plan::Mark. A hit loads the byte, and stores 1 only if it is still 0. After the
//   first hit, the cache line is shared for reading.
// * ProbeCounts: one element for each probe, in the map sonde_counts. It counts only rare events, such as skipped hits,
//   lost records and errors. sonde_rt_count() adds to it atomically.
// * ProbeTiming: one element for each row, only with -t. Every hit adds to it.
//
// With -t, each hit ends with one outcome (plan::HitOutcome), so that the numbers in the report add up:
//
//     hits = handled + lost + failed + skipped
//
// A hit is counted before its handler can be skipped, because a handler that waits for a lock may never run. If the hit
// turns out not to be one, take_back_hit() subtracts it again.
//
// What would break this:
// * A call counted twice. A call of a `.return` probe with a program at its entry runs two programs. Only the program
//   at the return counts the hit. The exceptions are calls whose return does not run the handler (record_outcome(),
//   count_skip()).
// * A minimum in zeroed memory. New map elements are zero, so a smallest time of 0 would never be replaced. The
//   smallest time is therefore stored with inverted bits. Both extremes then only grow from 0.
#include "codegen/bpf/accounting.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"

#include <iterator>

namespace sonde {

llvm::Value* BpfAccounting::count(size_t field, llvm::Value* probe) {
    map_reference(e_, plan::maps::counts);
    return e_.routine("sonde_rt_count", e_.i64(),
                      {probe ? probe : e_.number(bpf_.probe), e_.number(static_cast<int64_t>(field / 8))});
}

void BpfAccounting::count_if(llvm::Value* condition, size_t field) {
    llvm::BasicBlock *yes = e_.block("yes"), *go = e_.block("go");
    e_.CreateCondBr(condition, yes, go);
    e_.SetInsertPoint(yes);
    count(field);
    e_.CreateBr(go);
    e_.SetInsertPoint(go);
}

void BpfAccounting::lose_if(Environment& env, llvm::Value* condition) {
    llvm::BasicBlock *lost = e_.block("lost"), *sent = e_.block("sent");
    e_.CreateCondBr(condition, lost, sent);
    e_.SetInsertPoint(lost);
    count(offsetof(plan::ProbeCounts, lost));
    if (env.outcome) {
        llvm::Value* failed = e_.CreateICmpEQ(e_.CreateLoad(e_.i64(), env.outcome), e_.number(plan::Failed));
        e_.CreateStore(e_.CreateSelect(failed, e_.number(plan::Failed), e_.number(plan::OutputLost)), env.outcome);
    }
    e_.CreateBr(sent);
    e_.SetInsertPoint(sent);
}

void BpfAccounting::count_error(Environment& env, llvm::BasicBlock* told) {
    if (env.outcome)
        e_.CreateStore(e_.number(plan::Failed), env.outcome);
    llvm::Value* of_probe = count(offsetof(plan::ProbeCounts, errors), env.probe);
    llvm::BasicBlock* tell = e_.block("tell");
    if (bpf_.state.translate.suppress_handler_errors) {
        e_.CreateCondBr(e_.CreateICmpEQ(of_probe, e_.number(0)), tell, told);
        e_.SetInsertPoint(tell);
        return;
    }
    llvm::Value* before =
        e_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.offset(bpf_.data, offsetof(plan::SessionWords, errors)),
                           e_.number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    llvm::Value* most = e_.CreateLoad(e_.i64(), e_.offset(bpf_.data, offsetof(plan::SessionWords, max_errors)));
    llvm::BasicBlock* stop = e_.block("stop");
    e_.CreateCondBr(e_.CreateICmpUGE(before, most), stop, tell);
    e_.SetInsertPoint(stop);
    one_hit_.expect_more();
    e_.CreateStore(e_.number(plan::Stopping), bpf_.data);
    e_.CreateBr(tell);
    e_.SetInsertPoint(tell);
}

void BpfAccounting::mark(plan::Mark what, llvm::Value* index) {
    const uint64_t size = bpf_.state.plan.marks_size();
    if (!index->getType()->isIntegerTy(64))
        index = e_.CreateZExt(index, e_.i64());
    if (!llvm::isa<llvm::ConstantInt>(index))
        index = e_.masked(index, size - 1);
    llvm::Value* first = e_.offset(bpf_.data, bpf_.state.plan.marks + static_cast<uint64_t>(what) * size);
    llvm::Value* place = e_.CreateGEP(e_.getInt8Ty(), first, index);
    llvm::BasicBlock *set = e_.block("mark"), *go = e_.block("marked");
    e_.CreateCondBr(e_.CreateICmpEQ(e_.CreateLoad(e_.getInt8Ty(), place), e_.getInt8(0)), set, go);
    e_.SetInsertPoint(set);
    e_.CreateStore(e_.getInt8(1), place);
    e_.CreateBr(go);
    e_.SetInsertPoint(go);
}

void BpfAccounting::count_hit(Environment& env) {
    mark(bpf_.saves_entry ? plan::Mark::Entered : plan::Mark::Hit, env.row);
    const plan::Probe& probe = bpf_.state.plan.probes[bpf_.probe];
    if (!bpf_.split.wanted && probe.entry_program.empty() && !probe.at_instruction)
        count_full_returns();
    if (timed_ && !bpf_.saves_entry)
        add_timing(offsetof(plan::ProbeTiming, hits), e_.number(1));
}

// A return probe without a program at the entry can only notice that a thread's list of pending returns is full. It
// cannot count the deeper calls that the kernel did not follow.
void BpfAccounting::count_full_returns() {
    // MAX_URETPROBE_DEPTH (kernel/events/uprobes.c). When a return is hit, the kernel may or may not have removed the
    // call from its list.
    constexpr int64_t most_returns = 64;
    llvm::Value* full = e_.number(bpf_.saves_entry ? most_returns : most_returns - 1);
    if (plan::is_uprobe(bpf_.kind) && plan::traits(bpf_.kind).at_return && bpf_.state.facts.kernel_types)
        count_if(e_.CreateICmpNE(e_.routine("sonde_rt_follows_returns", e_.i64(), {full}), e_.number(0)),
                 offsetof(plan::ProbeCounts, nested));
}

void BpfAccounting::go_if_saved(llvm::Value* is_saved, llvm::BasicBlock* unsaved) {
    llvm::BasicBlock *gone = e_.block("unsaved"), *go = e_.block("go");
    e_.CreateCondBr(is_saved, go, gone);
    e_.SetInsertPoint(gone);
    count(offsetof(plan::ProbeCounts, unsaved));
    e_.CreateBr(unsaved);
    e_.SetInsertPoint(go);
}

void BpfAccounting::begin_timing(Environment& env) {
    timed_ = plan::is_event(bpf_.kind) && bpf_.state.translate.keeps_times;
    if (!timed_)
        return;
    llvm::Value* key = nullptr;
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(env.row)) {
        key = u32_key(e_, static_cast<uint32_t>(known->getZExtValue()));
    } else {
        key = e_.scratch("index", 8);
        e_.CreateStore(env.row, key);
    }
    timing_ = helper_pointer(e_, map_lookup_elem, {map_reference(e_, plan::maps::timing), key});
    go_if(bpf_, e_.CreateIsNotNull(timing_));
    if (!bpf_.saves_entry)
        started_ = helper(e_, ktime_get_ns, {});
}

void BpfAccounting::take_back_hit() {
    if (timed_)
        add_timing(offsetof(plan::ProbeTiming, hits), e_.number(-1));
}

void BpfAccounting::count_skip(size_t field) {
    count(field);
    if (timed_ && bpf_.saves_entry)
        add_timing(offsetof(plan::ProbeTiming, hits), e_.number(1));
    e_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.offset(bpf_.data, offsetof(plan::SessionWords, skipped)),
                       e_.number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
}

llvm::Value* BpfAccounting::add_timing(size_t field, llvm::Value* value) {
    return e_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.offset(timing_, field), value, llvm::Align(8),
                              llvm::AtomicOrdering::Monotonic);
}

// With -t, the entry of a call counts as a hit only if no hit of its return will follow. That is so if the return is
// not armed, or if the return will find no saved values.
void BpfAccounting::record_outcome(Environment& env) {
    if (!timed_)
        return;
    llvm::BasicBlock* end = e_.block("told");
    llvm::Value* outcome = e_.masked(e_.CreateLoad(e_.i64(), env.outcome), std::size(plan::ProbeTiming{}.outcomes) - 1);
    if (bpf_.saves_entry) {
        llvm::BasicBlock* over = e_.block("over");
        llvm::Value* ends = bpf_.split.wanted ? e_.CreateLoad(e_.i64(), bpf_.refused) : outcome;
        e_.CreateCondBr(e_.CreateICmpNE(ends, e_.number(0)), over, end);
        e_.SetInsertPoint(over);
        add_timing(offsetof(plan::ProbeTiming, hits), e_.number(1));
    }
    llvm::Value* field = e_.CreateGEP(e_.i64(), e_.offset(timing_, offsetof(plan::ProbeTiming, outcomes)), outcome);
    e_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, field, e_.number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    if (!bpf_.saves_entry)
        record_time();
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

// The sum has 128 bits: 20 runs of a second exceed 64. BPF has no multiplication with a 128-bit result, so a run counts
// as at most 4 seconds here.
void BpfAccounting::add_square(llvm::Value* ns) {
    llvm::Value* most = e_.number(UINT32_MAX);
    llvm::Value* bounded = e_.CreateSelect(e_.CreateICmpUGT(ns, most), most, ns);
    llvm::Value* square = e_.CreateMul(bounded, bounded);
    llvm::Value* before = add_timing(offsetof(plan::ProbeTiming, squares_low), square);
    llvm::Value* carry = e_.CreateICmpUGT(square, e_.CreateNot(before));
    add_timing(offsetof(plan::ProbeTiming, squares_high), e_.CreateZExt(carry, e_.i64()));
}

void BpfAccounting::record_time() {
    llvm::Value* spent = e_.CreateSub(helper(e_, ktime_get_ns, {}), started_);
    add_timing(offsetof(plan::ProbeTiming, total_ns), spent);
    add_square(spent);
    // Without an atomic exchange, an extreme of another processor at the same moment can be lost. These numbers are for
    // the report only; no result depends on them.
    for (auto [field, value] : {std::pair(offsetof(plan::ProbeTiming, min_biased_ns), e_.CreateNot(spent)),
                                std::pair(offsetof(plan::ProbeTiming, max_ns), spent)}) {
        llvm::Value* old = e_.CreateLoad(e_.i64(), e_.offset(timing_, field));
        e_.CreateStore(e_.CreateSelect(e_.CreateICmpUGT(value, old), value, old), e_.offset(timing_, field));
    }
}

} // namespace sonde
