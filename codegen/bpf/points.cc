#include "codegen/bpf/points.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "codegen/rtlib/pt_regs.h"
#include "frontend/hir/walk.h"

namespace sonde {
namespace {

// Where a table by the calls' numbers has a call's row, and 1 added; 0: it is none of these.
llvm::Value* syscall_cell(BpfContext& bpf, llvm::Value* called, const std::vector<plan::Point>& points) {
    Emitter& e = bpf.e;
    // Up to 32 bytes it would be a constant to be merged, which LLVM puts into another section of that name.
    uint64_t most = 15;
    for (const plan::Point& point : points)
        most = std::max(most, static_cast<uint64_t>(point.number));
    std::vector<uint32_t> rows(std::bit_ceil(most + 1));
    for (const plan::Point& point : points)
        rows[static_cast<size_t>(point.number)] = point.row + 1;
    go_if(bpf, e.CreateICmpULT(called, e.number(static_cast<int64_t>(rows.size()))));
    auto* table = new llvm::GlobalVariable(
        e.module(), llvm::ArrayType::get(e.getInt32Ty(), rows.size()), true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantDataArray::get(e.getContext(), llvm::ArrayRef<uint32_t>(rows)), "syscall_rows");
    table->setSection(".rodata");
    table->setAlignment(llvm::Align(8));
    // The verifier does not remember the comparison with each copy of the number.
    llvm::Value* safe = e.masked(called, rows.size() - 1);
    return e.CreateGEP(e.getInt32Ty(), table, safe);
}

// Which of these system calls it is, as its row; the handler ends at any other. Those of 32-bit programs have numbers
// of their own.
llvm::Value* find_syscall(BpfContext& bpf, Registers& registers, Environment& env,
                          const std::vector<plan::Point>& points) {
    Emitter& e = bpf.e;
    llvm::Value* regs = registers.argument(env, 0);
    auto field = [&](int64_t at) {
        llvm::Value* value = e.scratch("load", 8);
        e.CreateStore(e.number(0), value);
        helper(e, probe_read_kernel, {value, e.number(8), e.CreateAdd(regs, e.number(at))});
        return e.CreateLoad(e.i64(), value);
    };
    bool enters = points[0].symbol == "sys_enter" || bpf.saves_entry;
    llvm::Value* called = enters ? registers.argument(env, 1) : field(SONDE_REGS_ORIG_AX);
    // rt_sigreturn restores the registers of before the signal, with -1 for the call's number
    // (arch/x86/kernel/signal.c).
    constexpr int rt_sigreturn = 15;
    if (!enters && std::ranges::any_of(points, [](const plan::Point& point) { return point.number == rt_sigreturn; }))
        called = e.CreateSelect(e.CreateICmpEQ(called, e.number(-1)), e.number(rt_sigreturn), called);
    // The number stands for all that are beyond the kernel's table (frontend/probes/kind_syscall.cc).
    constexpr int beyond_table = 511;
    if (std::ranges::any_of(points, [](const plan::Point& point) { return point.number == beyond_table; }))
        called = e.CreateSelect(e.CreateICmpSGT(called, e.number(beyond_table)), e.number(beyond_table), called);
    llvm::Value* row = nullptr;
    if (points.size() == 1) {
        go_if(bpf, e.CreateICmpEQ(called, e.number(points[0].number)));
        row = e.getInt32(points[0].row);
    } else {
        llvm::Value* found = e.CreateLoad(e.getInt32Ty(), syscall_cell(bpf, called, points));
        go_if(bpf, e.CreateICmpNE(found, e.getInt32(0)));
        row = e.CreateSub(found, e.getInt32(1));
    }
    if (bpf.state.options.kernel_types)
        go_if(bpf, e.CreateICmpEQ(e.routine("sonde_rt_in_compat_call", e.i64(), {regs}), e.number(0)));
    else
        go_if(bpf, e.CreateICmpEQ(e.CreateAnd(field(SONDE_REGS_CS), e.number(0xffff)), e.number(SONDE_USER_CS)));
    return row;
}

} // namespace

std::optional<int> task_argument(const hir::Handler& handler) {
    std::optional<int> found;
    if (const int8_t by_kind = plan::traits(handler.kind).task_argument; by_kind >= 0)
        found = by_kind;
    for_each_expr(*handler.body, [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(expr).facts.names_task)
            found = static_cast<int>(hir::as<hir::ConstLong>(*hir::as<hir::Intrinsic>(expr).args[0]).value);
    });
    return found;
}

llvm::Value* begin_task_event(BpfContext& bpf, Environment& env) {
    Emitter& e = bpf.e;
    const bool thread = plan::is_about(bpf.kind, plan::Subject::Thread);
    if (plan::traits(bpf.kind).user == plan::UserRegisters::Gone) {
        llvm::Value* program = e.routine("sonde_rt_ended", e.i64(), {bpf.argument, e.number(thread)});
        go_if(bpf, e.CreateICmpNE(program, e.number(0)));
        return program;
    }
    if (plan::follows_tasks(bpf.kind)) {
        env.task = e.routine("sonde_rt_begun", e.i64(), {bpf.argument, e.number(thread)});
        go_if(bpf, e.CreateICmpNE(env.task, e.number(0)));
    }
    return e.routine("sonde_rt_program", e.i64(), {env.task});
}

void filter_target(BpfContext& bpf, Task& task, BpfAccounting& accounting, Environment& env) {
    Emitter& e = bpf.e;
    llvm::Value *process = task.number(env, hir::TaskNumber::KernelPid), *index = e.scratch("index", 8);
    e.CreateStore(e.CreateTrunc(e.CreateLShr(process, e.number(6)), e.getInt32Ty()), index);
    llvm::Value* word = helper_pointer(e, map_lookup_elem, {map_reference(e, "sonde_targets"), index});
    go_if(bpf, e.CreateIsNotNull(word));
    llvm::Value* bits = e.CreateLShr(e.CreateLoad(e.i64(), word), e.CreateAnd(process, e.number(63)));
    llvm::BasicBlock *other = e.block("outside"), *in = e.block("inside");
    e.CreateCondBr(e.CreateICmpNE(e.CreateAnd(bits, e.number(1)), e.number(0)), in, other);
    e.SetInsertPoint(other);
    accounting.mark(plan::Mark::Outside, e.number(bpf.probe));
    e.CreateBr(bpf.out);
    e.SetInsertPoint(in);
}

llvm::Value* first_row(BpfContext& bpf) {
    const auto& points = bpf.state.plan.probes[bpf.probe].points;
    return bpf.e.getInt32(points.empty() ? 0 : points[0].row);
}

void find_row(BpfContext& bpf, Task& task, Registers& registers, const hir::Handler& handler, llvm::Value* program,
              Environment& env) {
    Emitter& e = bpf.e;
    const plan::Probe& probe = bpf.state.plan.probes[bpf.probe];
    bool event = plan::is_task_event(handler.kind), one = probe.points.size() == 1;
    env.row = first_row(bpf);
    if (!probe.points.empty() && probe.points[0].number >= 0)
        env.row = find_syscall(bpf, registers, env, probe.points);
    else if (!one && !event)
        env.row = e.CreateTrunc(helper(e, get_attach_cookie, {bpf.argument}), e.getInt32Ty());
    if (!probe.has_subjects())
        return;
    llvm::Value* group =
        event ? e.number(bpf.probe)
              : e.CreateOr(e.CreateZExt(env.row, e.i64()),
                           e.number(static_cast<int64_t>(plan::Probe::subject_group(handler.kind, bpf.probe, 0))));
    if (!program)
        program = e.routine("sonde_rt_program", e.i64(), {e.number(0)});
    llvm::Value* found =
        e.routine("sonde_rt_subject", e.i64(), {program, task.number(env, hir::TaskNumber::KernelPid), group});
    go_if(bpf, e.CreateICmpSGE(found, e.number(0)));
    if (!one)
        env.row = e.CreateTrunc(found, e.getInt32Ty());
}

} // namespace sonde
