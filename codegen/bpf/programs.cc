// BPF programs from beginning to end. The kernel runs the program of a session link at a function's entry and at its
// return, so this program consists of two parts.
//
// A program does these things, in this order:
// - It checks whether the session runs (OneHit), and whether the event is in the target's processes and groups.
// - It finds out which probe point was hit, or that the hit is for another handler (hit_filter.cc).
// - With -t, it starts the clock.
// - At a return, it finds the values that the entry has saved.
// - It counts the hit.
// - It claims memory for strings and loops, and takes the probe's lock (Claims).
// - It runs the script's statements.
// - It releases what it has claimed, records the outcome, and returns.
//
// The first checks are the cheapest ones, and come first, because most hits of a system call's handler end there.
//
// What would break it: code after the claims that branches to bpf_.out without Claims::release(). The program returns
// there. The claims would never be released, and after a few such hits no handler would get memory. So code after the
// claims must end at the block that end() begins with.
#include <cstddef>
#include <optional>

#include <llvm/IR/InlineAsm.h>

#include "codegen/bpf/hit_filter.h"
#include "codegen/bpf/loop_callbacks.h"
#include "codegen/bpf/parts.h"
#include "codegen/emit/shared_data.h"
#include "codegen/rtlib/fork.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/saved_calls.h"

namespace sonde {
namespace {

// Whether a jump with the condition is taken; returns an i1.
llvm::Value* is_jump_taken(Emitter& e, const FlagsCondition& condition, llvm::Value* flags) {
    auto is_set = [&](uint64_t any) {
        return e.CreateICmpNE(e.CreateAnd(flags, e.number(static_cast<int64_t>(any))), e.number(0));
    };
    auto is_any_clear = [&](uint64_t any) {
        llvm::Value* bits = e.number(static_cast<int64_t>(any));
        return e.CreateICmpNE(e.CreateAnd(flags, bits), bits);
    };
    llvm::Value* differs = e.CreateXor(is_set(condition.differ[0]), is_set(condition.differ[1]));
    llvm::Value* holds = e.CreateOr(e.CreateOr(is_set(condition.any_set), is_any_clear(condition.any_clear)), differs);
    return condition.opposite ? e.CreateNot(holds) : holds;
}

} // namespace

void BpfPrograms::begin(const hir::Handler& handler, const std::string& symbol, uint32_t probe, Needs needs,
                        Environment& env) {
    const plan::Probe& planned = bpf_.state.plan.probes[probe];
    handler_ = &handler;
    bpf_.kind = handler.kind;
    bpf_.probe = probe;
    bpf_.saves_entry = symbol != planned.symbol;
    bpf_.at_syscall_event = bpf_.state.facts.syscall_events && is_at_syscalls(handler);
    bpf_.looks_at_counters = needs.counter;
    llvm::Function* function = nullptr;
    if (bpf_.split.wanted) {
        function = begin_part(symbol);
    } else {
        auto* type = llvm::FunctionType::get(result_type(), {e_.ptr()}, false);
        function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, e_.module());
        function->setSection(section(bpf_.saves_entry));
    }
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
    e_.lines().describe(function, handler.range);
    if (bpf_.split.wanted && bpf_.saves_entry) {
        bpf_.refused = e_.stack(8);
        e_.CreateStore(e_.number(1), bpf_.refused);
    }
    bpf_.argument = function->getArg(0);
    env.context = bpf_.argument;
    env.data = bpf_.data;
    env.probe = e_.number(probe);
    bpf_.out = llvm::BasicBlock::Create(e_.getContext(), "out", function);
    parts_.claims.clear();
    env.task = e_.number(0);
    // A program that may sleep cannot read performance counters.
    env.can_wait = e_.number(plan::is_uprobe(bpf_.kind) && !bpf_.looks_at_counters);
    if (plan::is_event(bpf_.kind))
        begin_hit(handler, env);
    else
        env.row = first_row(bpf_);
    parts_.accounting.begin_timing(env);
    if (handler.checks_stack && (bpf_.saves_entry || !plan::traits(handler.kind).at_return)) {
        // Go functions begin with a conditional jump: if the stack is too small, they grow it and start again at the
        // first instruction. Such a hit does not count.
        const uint8_t used_up = bpf_.state.architecture.go().stack_is_used_up;
        llvm::Value* flags = context_word(e_, env.context, e_.registers().offset(flags_register));
        go_if(bpf_, e_.CreateXor(is_jump_taken(e_, e_.registers().conditions[used_up >> 1], flags),
                                 e_.getInt1(used_up % 2 == 0)));
    }
    parts_.entry_values.find(env, handler);
    if (plan::is_event(bpf_.kind))
        parts_.accounting.count_hit(env);
    if (needs.scan) {
        parts_.maps.use_scans();
        env.scan = parts_.claims.claim(plan::maps::scans, scans_of_all);
    }
    if (needs.frame) {
        parts_.maps.use_frames();
        env.frame = parts_.claims.claim(plan::maps::frames, frames_of_all);
    }
    if (planned.lock && !bpf_.saves_entry)
        parts_.claims.take_lock(data_address(e_, env.data, planned.lock));
}

void BpfPrograms::begin_hit(const hir::Handler& handler, Environment& env) {
    parts_.one_hit.go_if_running();
    llvm::Value* program = plan::is_task_event(bpf_.kind) ? begin_task_event(bpf_, env) : nullptr;
    if (std::optional<int> task = task_argument(handler))
        env.task = parts_.registers.argument(env, *task);
    if (plan::traits(bpf_.kind).task_argument >= 0) // the task iterator passes a null task at its end
        go_if(bpf_, e_.CreateICmpNE(env.task, e_.number(0)));
    // A packet does not belong to a process.
    bool let_in = bpf_.split.wanted && !bpf_.saves_entry; // its entry has filtered it
    if (bpf_.state.plan.filter_target && !plan::is_about_no_task(bpf_.kind) && !let_in)
        filter_target(bpf_, parts_.task, parts_.accounting, env);
    if (!bpf_.state.plan.groups.empty() && !plan::is_about_no_task(bpf_.kind) && !let_in)
        filter_groups(bpf_, parts_.accounting, env);
    find_row(bpf_, parts_.task, parts_.registers, handler, program, env);
}

void BpfPrograms::end(Environment& env) {
    parts_.entry_values.forget(env, *handler_);
    parts_.claims.release();
    parts_.accounting.record_outcome(env);
    parts_.one_hit.note_end(e_.CreateLoad(e_.i64(), env.error));
    if (plan::decides(bpf_.kind))
        e_.CreateRet(decision(e_.CreateLoad(e_.i64(), decision_place(e_, env))));
    else
        e_.CreateBr(bpf_.out);
    e_.SetInsertPoint(bpf_.out);
    if (bpf_.split.wanted && bpf_.saves_entry)
        e_.CreateRet(e_.CreateTrunc(e_.CreateLoad(e_.i64(), bpf_.refused), e_.getInt32Ty()));
    else
        e_.CreateRet(
            llvm::ConstantInt::get(result_type(), plan::traits(bpf_.kind).decision == plan::Decision::Verdict));
    // Functions are lowered between begin() and end(), and inlined into each handler. So `sleeps` counts for all later
    // handlers, too.
    llvm::Function* function = bpf_.out->getParent();
    if (bpf_.sleeps && !bpf_.looks_at_counters && function->getSection() == "uprobe")
        function->setSection("uprobe.s");
}

// A replaced function's result is 64 bits wide; all other programs return an int.
llvm::Type* BpfPrograms::result_type() {
    return plan::traits(bpf_.kind).decision == plan::Decision::Result ? e_.i64() : e_.getInt32Ty();
}

llvm::Value* BpfPrograms::decision(llvm::Value* value) {
    if (plan::traits(bpf_.kind).decision == plan::Decision::Result)
        return value;
    if (plan::traits(bpf_.kind).decision == plan::Decision::Verdict)
        return e_.CreateTrunc(e_.CreateAnd(value, e_.number(1)), e_.getInt32Ty());
    llvm::Value* magnitude = e_.masked(e_.CreateNeg(value), 4095);
    return e_.CreateTrunc(e_.CreateSub(e_.opaque(e_.number(0)), magnitude), e_.getInt32Ty());
}

const char* BpfPrograms::section(bool entry) const {
    const plan::KindTraits& kind = plan::traits(bpf_.kind);
    if (!plan::is_event(bpf_.kind)) // for handlers of the session that run in the kernel (--host-probes=kernel)
        return "raw_tracepoint";
    if (bpf_.at_syscall_event)
        return "tracepoint";
    return entry && *kind.at_entry ? kind.at_entry : kind.section;
}

llvm::Function* BpfPrograms::begin_part(const std::string& symbol) {
    auto* type = llvm::FunctionType::get(e_.getInt32Ty(), {e_.ptr()}, false);
    auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                            symbol + (bpf_.saves_entry ? "" : "_return"), e_.module());
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    (bpf_.saves_entry ? entry_part_ : return_part_) = function;
    return function;
}

void BpfPrograms::join_legs(const hir::Handler& handler) {
    auto* function = llvm::Function::Create(return_part_->getFunctionType(), llvm::Function::ExternalLinkage,
                                            handler.name, e_.module());
    function->setSection(bpf_.sleeps && !bpf_.looks_at_counters ? "uprobe.s" : "uprobe");
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
    e_.lines().describe(function, handler.range);
    llvm::Value* context = function->getArg(0);
    llvm::BasicBlock *entered = e_.block("entered"), *returned = e_.block("returned");
    // Kernels before 7.0 ignore the argument.
    llvm::Value* returns = helper(e_, plan::call_session_is_return, {context});
    e_.CreateCondBr(e_.CreateICmpNE(e_.CreateAnd(returns, e_.number(1)), e_.number(0)), returned, entered);
    for (auto [part, at] : {std::pair(entry_part_, entered), std::pair(return_part_, returned)}) {
        e_.SetInsertPoint(at);
        e_.CreateRet(e_.CreateCall(part, {context}));
    }
}

llvm::Value* BpfPrograms::unknown_zero(Environment& env) {
    auto* load = e_.CreateLoad(e_.i64(), e_.offset(env.data, offsetof(plan::SessionWords, zero)));
    load->setVolatile(
        true); // Volatile, so that bounds that the verifier learns for one load do not carry over to the next
    return load;
}

void BpfPrograms::loop_head(llvm::BasicBlock* limit) {
    llvm::BasicBlock* go = e_.block("go");
    if (bpf_.state.facts.may_goto) {
        auto* type = llvm::FunctionType::get(e_.getVoidTy(), false);
        auto* assembly = llvm::InlineAsm::get(type, "may_goto ${0:l}", "!i", true);
        e_.CreateCallBr(type, assembly, go, {limit}, {});
    } else {
        auto* type = llvm::FunctionType::get(e_.getInt1Ty(), false);
        e_.CreateCondBr(e_.CreateCall(e_.module().getOrInsertFunction(loop_mark, type)), limit, go);
    }
    e_.SetInsertPoint(go);
}

// At a fork, copies the saved values of the parent's pending calls: the child returns from the same calls.
void BpfPrograms::copy_calls_at_forks() {
    auto* type = llvm::FunctionType::get(e_.getInt32Ty(), {e_.ptr()}, false);
    auto* function =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, plan::programs::saved_calls_fork, e_.module());
    function->setSection("raw_tp/sched_process_fork");
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
    e_.lines().describe(function, bpf_.state.program.handlers[0]->range);
    llvm::Value* fork = e_.stack(sizeof(sonde_fork));
    llvm::BasicBlock *copy = e_.block("copy"), *end = e_.block("end");
    llvm::Value* wanted = e_.routine("sonde_rt_forks", e_.i64(), {function->getArg(0), fork});
    e_.CreateCondBr(e_.CreateICmpNE(wanted, e_.number(0)), copy, end);
    e_.SetInsertPoint(copy);
    for (const plan::Probe& probe : bpf_.state.plan.probes)
        if (plan::saves_calls(probe))
            e_.routine("sonde_rt_copy_calls", e_.i64(), {map_reference(e_, probe.entry_map), fork});
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
    e_.CreateRet(e_.getInt32(0));
}

std::string BpfPrograms::finish() {
    e_.merge_scratch();
    if (bpf_.state.facts.kernel_types && plan::saves_calls(bpf_.state.plan))
        copy_calls_at_forks();
    if (bpf_.writes_registers)
        order_context_words(e_.module());
    return parts_.maps.declare();
}

} // namespace sonde
