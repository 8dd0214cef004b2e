// What becomes of each hit, as the kernel's side counts it. Without -t only what goes wrong is counted, where it goes
// wrong, and marks are set, which say that something has happened at all: a load and a branch once they are set, so
// that processors share their cache line.
#include <cstddef>

#include "codegen/bpf/target_bpf.h"

namespace sonde {

llvm::Value* BpfTarget::count(size_t field) {
    llvm::Value* row = helper_pointer(map_lookup_elem, {map_reference("sonde_counts"), u32_key(probe_)});
    llvm::BasicBlock *before = ir_.GetInsertBlock(), *there = block("count"), *end = block("counted");
    ir_.CreateCondBr(ir_.CreateIsNotNull(row), there, end);
    ir_.SetInsertPoint(there);
    llvm::Value* old = ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(row, field), number(1), llvm::Align(8),
                                           llvm::AtomicOrdering::Monotonic);
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
    llvm::PHINode* result = ir_.CreatePHI(i64(), 2);
    result->addIncoming(number(0), before);
    result->addIncoming(old, there);
    return result;
}

void BpfTarget::count_if(llvm::Value* condition, size_t field) {
    llvm::BasicBlock *yes = block("yes"), *go = block("go");
    ir_.CreateCondBr(condition, yes, go);
    ir_.SetInsertPoint(yes);
    count(field);
    ir_.CreateBr(go);
    ir_.SetInsertPoint(go);
}

void BpfTarget::lose_if(Environment& env, llvm::Value* condition) {
    llvm::BasicBlock *lost = block("lost"), *sent = block("sent");
    ir_.CreateCondBr(condition, lost, sent);
    ir_.SetInsertPoint(lost);
    count(offsetof(plan::ProbeCounts, lost));
    if (env.outcome) {
        llvm::Value* failed = ir_.CreateICmpEQ(ir_.CreateLoad(i64(), env.outcome), number(plan::Failed));
        ir_.CreateStore(ir_.CreateSelect(failed, number(plan::Failed), number(plan::OutputLost)), env.outcome);
    }
    ir_.CreateBr(sent);
    ir_.SetInsertPoint(sent);
}

void BpfTarget::count_error(Environment& env, llvm::BasicBlock* told) {
    if (env.outcome)
        ir_.CreateStore(number(plan::Failed), env.outcome);
    llvm::Value* of_probe = count(offsetof(plan::ProbeCounts, errors));
    llvm::BasicBlock* tell = block("tell");
    if (state_.options.suppress_errors) {
        ir_.CreateCondBr(ir_.CreateICmpEQ(of_probe, number(0)), tell, told);
        ir_.SetInsertPoint(tell);
        return;
    }
    llvm::Value* before =
        ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(data_, offsetof(plan::SessionWords, errors)), number(1),
                            llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    llvm::Value* most = ir_.CreateLoad(i64(), offset(data_, offsetof(plan::SessionWords, max_errors)));
    llvm::BasicBlock* stop = block("stop");
    ir_.CreateCondBr(ir_.CreateICmpUGE(before, most), stop, tell);
    ir_.SetInsertPoint(stop);
    ir_.CreateStore(number(plan::Stopping), data_);
    ir_.CreateBr(tell);
    ir_.SetInsertPoint(tell);
}

void BpfTarget::mark(plan::Mark what, llvm::Value* index) {
    const uint64_t size = state_.plan.marks_size();
    if (!index->getType()->isIntegerTy(64))
        index = ir_.CreateZExt(index, i64());
    if (!llvm::isa<llvm::ConstantInt>(index))
        index = masked(index, size - 1);
    llvm::Value* first = offset(data_, state_.plan.marks + static_cast<uint64_t>(what) * size);
    llvm::Value* place = ir_.CreateGEP(ir_.getInt8Ty(), first, index);
    llvm::BasicBlock *set = block("mark"), *go = block("marked");
    ir_.CreateCondBr(ir_.CreateICmpEQ(ir_.CreateLoad(ir_.getInt8Ty(), place), ir_.getInt8(0)), set, go);
    ir_.SetInsertPoint(set);
    ir_.CreateStore(ir_.getInt8(1), place);
    ir_.CreateBr(go);
    ir_.SetInsertPoint(go);
}

void BpfTarget::count_hit(Environment& env) {
    mark(saves_entry_ ? plan::Mark::Entered : plan::Mark::Hit, env.row);
    const plan::Probe& probe = state_.plan.probes[probe_];
    if (!legs_.wanted && probe.entry_program.empty() && !probe.at_instruction)
        count_full_returns();
    if (timed_ && !saves_entry_)
        add_timing(offsetof(plan::ProbeTiming, hits), number(1));
}

// Without a program at the entry, returns that find the list full say only that deeper calls may have been.
void BpfTarget::count_full_returns() {
    // MAX_URETPROBE_DEPTH (kernel/events/uprobes.c). At a return, the call itself may be counted already or still.
    constexpr int64_t most_returns = 64;
    llvm::Value* full = number(saves_entry_ ? most_returns : most_returns - 1);
    if (plan::is_uprobe(kind_) && plan::traits(kind_).at_return && state_.options.kernel_types)
        count_if(ir_.CreateICmpNE(routine("sonde_rt_follows_returns", i64(), {full}), number(0)),
                 offsetof(plan::ProbeCounts, nested));
}

void BpfTarget::go_if_saved(llvm::Value* element) {
    llvm::BasicBlock *gone = block("unsaved"), *go = block("go");
    ir_.CreateCondBr(ir_.CreateIsNotNull(element), go, gone);
    ir_.SetInsertPoint(gone);
    count(offsetof(plan::ProbeCounts, unsaved));
    ir_.CreateBr(out_);
    ir_.SetInsertPoint(go);
}

// Once a run: the row of the probe point is known from here on.
void BpfTarget::find_timing(Environment& env) {
    llvm::Value* key = nullptr;
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(env.row)) {
        key = u32_key(static_cast<uint32_t>(known->getZExtValue()));
    } else {
        key = scratch("index", 8);
        ir_.CreateStore(env.row, key);
    }
    timing_ = helper_pointer(map_lookup_elem, {map_reference("sonde_timing"), key});
    go_if(ir_.CreateIsNotNull(timing_));
}

void BpfTarget::add_timing(size_t field, llvm::Value* value) {
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, offset(timing_, field), value, llvm::Align(8),
                        llvm::AtomicOrdering::Monotonic);
}

// An entry of a call is a hit only if nothing comes of its return: that is not armed, or finds nothing saved.
void BpfTarget::record_outcome(Environment& env) {
    llvm::BasicBlock* end = block("told");
    llvm::Value* outcome = masked(ir_.CreateLoad(i64(), env.outcome), std::size(plan::ProbeTiming{}.outcomes) - 1);
    if (saves_entry_) {
        llvm::BasicBlock* over = block("over");
        llvm::Value* ends = legs_.wanted ? ir_.CreateLoad(i64(), refused_) : outcome;
        ir_.CreateCondBr(ir_.CreateICmpNE(ends, number(0)), over, end);
        ir_.SetInsertPoint(over);
        add_timing(offsetof(plan::ProbeTiming, hits), number(1));
    }
    llvm::Value* field = ir_.CreateGEP(i64(), offset(timing_, offsetof(plan::ProbeTiming, outcomes)), outcome);
    ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, field, number(1), llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    if (!saves_entry_)
        record_time();
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
}

void BpfTarget::record_time() {
    llvm::Value* spent = ir_.CreateSub(helper(ktime_get_ns, {}), started_);
    add_timing(offsetof(plan::ProbeTiming, total_ns), spent);
    add_timing(offsetof(plan::ProbeTiming, total_squares), ir_.CreateMul(spent, spent));
    // Extremes may miss a simultaneous one; they are a report, not a result.
    for (auto [field, value] : {std::pair(offsetof(plan::ProbeTiming, min_biased_ns), ir_.CreateNot(spent)),
                                std::pair(offsetof(plan::ProbeTiming, max_ns), spent)}) {
        llvm::Value* old = ir_.CreateLoad(i64(), offset(timing_, field));
        ir_.CreateStore(ir_.CreateSelect(ir_.CreateICmpUGT(value, old), value, old), offset(timing_, field));
    }
}

} // namespace sonde
