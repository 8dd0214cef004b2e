// Facts about the current task, or about the task of the event; clocks.
//
// Most events are about the current task, for which the kernel has fast helpers. A tracepoint such as sched_wakeup is
// about another task. The handler then has the address of its task_struct in Environment::task, and routines read the
// members. Often the compiler does not know which of the two applies, so with_task() emits both ways and a branch. If
// the handler's kind decides, Environment::task is the constant 0, and only the first way is emitted.
//
// Process numbers depend on the PID namespace. In a container, pid() must return the number that `ps` prints there. The
// runtime stores the session's namespace in struct sonde_numbering before it loads the programs. These words are
// constants to the verifier, so it removes the way that is not needed.
#include <cstddef>

#include "codegen/bpf/parts.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/numbering.h"
#include "runtime/plan/object_names.h"

namespace sonde {
namespace {

// Loads a field of struct sonde_numbering by its offset.
llvm::Value* numbering(Emitter& e, uint64_t field) {
    auto* load = e.CreateLoad(e.i64(), e.offset(e.module().getOrInsertGlobal("sonde_numbering", e.i64()), field));
    load->setVolatile(true); // volatile: the value is set before loading, so only the verifier knows it
    return load;
}

// The number of the current process or thread in the session's PID namespace.
llvm::Value* own_number(Emitter& e, hir::TaskNumber what) {
    llvm::Value* level = numbering(e, offsetof(sonde_numbering, level));
    llvm::BasicBlock *initial = e.block("initial"), *other = e.block("namespace"), *end = e.block("number");
    e.CreateCondBr(e.CreateICmpEQ(level, e.number(0)), initial, other);
    e.SetInsertPoint(initial);
    llvm::Value* both = helper(e, get_current_pid_tgid, {});
    llvm::Value* here =
        what == hir::TaskNumber::Pid ? e.CreateLShr(both, e.number(32)) : e.CreateAnd(both, e.number(0xffffffff));
    e.CreateBr(end);
    e.SetInsertPoint(other);
    llvm::Value* there = e.routine(std::string("sonde_rt_own_") + hir::traits(what).name, e.i64(), {});
    e.CreateBr(end);
    e.SetInsertPoint(end);
    auto* out = e.CreatePHI(e.i64(), 2);
    out->addIncoming(here, initial);
    out->addIncoming(there, other);
    return out;
}

// Uses a helper if there is one, otherwise a routine.
llvm::Value* of_current(Emitter& e, hir::TaskNumber what) {
    switch (what) {
    case hir::TaskNumber::Pid:
    case hir::TaskNumber::Tid:
        return own_number(e, what);
    case hir::TaskNumber::KernelPid:
        return e.CreateLShr(helper(e, get_current_pid_tgid, {}), e.number(32));
    case hir::TaskNumber::Uid:
        return e.CreateAnd(helper(e, get_current_uid_gid, {}), e.number(0xffffffff));
    case hir::TaskNumber::Gid:
        return e.CreateLShr(helper(e, get_current_uid_gid, {}), e.number(32));
    case hir::TaskNumber::TaskCurrent:
        return helper(e, get_current_task, {});
    default:
        return e.routine(std::string("sonde_rt_") + hir::traits(what).name, e.i64(), {e.number(0)});
    }
}

// Emits `here` for the current task and `there` for another one.
template <typename Here, typename There> void with_task(Emitter& e, Environment& env, Here here, There there) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(env.task);
    if (constant)
        return here();
    llvm::BasicBlock *current = e.block("current"), *other = e.block("other"), *end = e.block("task");
    e.CreateCondBr(e.CreateICmpEQ(env.task, e.number(0)), current, other);
    e.SetInsertPoint(current);
    here();
    e.CreateBr(end);
    e.SetInsertPoint(other);
    there();
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

} // namespace

llvm::Value* BpfTask::number(Environment& env, hir::TaskNumber what) {
    const std::string routine = std::string("sonde_rt_") + hir::traits(what).name;
    const auto called = [&] { return helper(e_, hir::traits(what).helper, {}); };
    switch (hir::traits(what).origin) {
    case hir::NumberOrigin::Processor:
        return e_.CreateAnd(called(), e_.number(0xffffffff));
    case hir::NumberOrigin::Clock:
        return called();
    case hir::NumberOrigin::Event:
        if (what == hir::TaskNumber::In32BitCall && env.in_32_bit_call)
            return env.in_32_bit_call;
        return e_.routine(routine, e_.i64(), {});
    case hir::NumberOrigin::Session:
        return numbering(e_, what == hir::TaskNumber::PidLevel ? offsetof(sonde_numbering, level)
                                                               : offsetof(sonde_numbering, space));
    case hir::NumberOrigin::Task:
        break;
    }
    // Programs for packets have fewer helpers, so a routine is used.
    if (plan::is_about_no_task(bpf_.kind))
        return e_.routine(routine, e_.i64(), {e_.number(0)});
    llvm::Value* result = e_.stack(8);
    with_task(
        e_, env, [&] { e_.CreateStore(of_current(e_, what), result); },
        [&] {
            const bool itself = what == hir::TaskNumber::TaskCurrent;
            e_.CreateStore(itself ? env.task : e_.routine(routine, e_.i64(), {env.task}), result);
        });
    return e_.CreateLoad(e_.i64(), result);
}

void BpfTask::execname(Environment& env, llvm::Value* slot) {
    if (plan::is_about_no_task(bpf_.kind)) {
        e_.routine("sonde_rt_execname", e_.i64(), {slot, e_.number(0)});
        return;
    }
    with_task(
        e_, env,
        [&] {
            if (bpf_.state.facts.kernel_types)
                e_.routine("sonde_rt_current_comm", e_.i64(), {slot});
            else
                helper(e_, get_current_comm, {slot, e_.number(16)});
        },
        [&] { e_.routine("sonde_rt_execname", e_.i64(), {slot, env.task}); });
}

llvm::Value* BpfTask::group(Environment& env) {
    llvm::Value* result = e_.stack(8);
    with_task(
        e_, env, [&] { e_.CreateStore(helper(e_, get_current_cgroup_id, {}), result); },
        [&] { e_.CreateStore(e_.routine("sonde_rt_group", e_.i64(), {env.task}), result); });
    return e_.CreateLoad(e_.i64(), result);
}

void BpfTask::group_text(Environment& env, llvm::Value* slot, plan::GroupKind kind) {
    e_.routine("sonde_rt_group_text", e_.i64(),
               {slot, env.task, e_.number(static_cast<int64_t>(kind)), map_reference(e_, plan::maps::group_names)});
}

// No helper reads CLOCK_REALTIME. CLOCK_TAI follows changes of the clock, and differs from CLOCK_REALTIME by whole
// seconds; the session keeps this difference up to date. No helper reads the cycle counter, so nanoseconds are used
// instead.
llvm::Value* BpfTask::clock(Environment& env, hir::Clock which) {
    const auto word = [&](size_t at) { return e_.CreateLoad(e_.i64(), e_.offset(env.data, at)); };
    if (which == hir::Clock::RealTime)
        return e_.CreateSub(helper(e_, ktime_get_tai_ns, {}), word(offsetof(plan::SessionWords, tai_offset_ns)));
    llvm::Value* now = helper(e_, ktime_get_ns, {});
    return which == hir::Clock::Steady ? e_.CreateAdd(now, word(offsetof(plan::SessionWords, realtime_offset_ns)))
                                       : now;
}

llvm::Value* BpfTask::counter(uint32_t index) { return e_.routine("sonde_rt_counter", e_.i64(), {e_.number(index)}); }

llvm::Value* BpfTask::raise_signal(llvm::Value* signal) {
    return helper(e_, send_signal_thread, {e_.CreateTrunc(signal, e_.getInt32Ty())});
}

llvm::Value* BpfTask::load_average(llvm::Value* index) { return e_.routine("sonde_rt_loadavg", e_.i64(), {index}); }

} // namespace sonde
