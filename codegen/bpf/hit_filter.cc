// Decides at the beginning of a hit whether the handler is for this hit, and for which of its points.
//
// System calls are the difficult case. The kernel has one tracepoint for all of them, so the handler of a single call
// runs at each call of each process. For most of these hits it has nothing to do, and it must find that out quickly. So
// the plan's points are compiled into a constant table: at the index of the call's number, it has the point (from 1),
// or 0. With at most three different numbers, comparisons take the place of the table.
//
// A number means another call in a 32-bit program. For example, 1 is write in a 64-bit program, but exit in a 32-bit
// program. So each cell of the table has two halves: `wide` and `narrow`. Some calls of 32-bit programs contain others:
// socketcall (102) is connect, send or another call, depending on its first argument. The narrow half of their cells is
// has_inner_calls, and a second table has the points of the inner calls.
//
// Both tables are padded to a power of two, so that the index can be masked. Without the mask, the verifier would
// reject the access, if it did not see that the index was compared before.
#include "codegen/bpf/hit_filter.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "base/check.h"
#include "codegen/bpf/parts.h"
#include "frontend/hir/walk.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"

namespace sonde {
namespace {

// The kernel reports the return from rt_sigreturn as call number -1. The reason is that rt_sigreturn restores the
// registers from before the signal. 32-bit programs have two such calls, which cannot be distinguished.
constexpr const char* sigreturn = "rt_sigreturn";
constexpr int after_sigreturn = -1;
// Stands for all numbers above the kernel's table (frontend/probes/kind_syscall.cc).
constexpr int beyond_table = 511;

// The handler's point for a system call's number, counted from 1; 0 if the number is not probed. A number means
// different calls in 64-bit programs (`wide`) and in 32-bit programs (`narrow`).
struct SyscallCell {
    uint32_t wide = 0, narrow = 0;
};
// A value of `narrow` instead of a point: the call is identified by an argument, too (arch/narrow_arguments.h).
constexpr uint32_t has_inner_calls = 0xffff;
constexpr unsigned half_cell = 16;

struct SyscallCells {
    std::map<int64_t, SyscallCell> by_number;
    std::vector<uint32_t> inner; // points of these calls, from SONDE_INNER_CALLS on; may be empty
    uint32_t most = 0;           // largest value of `wide` and `narrow`
};

SyscallCells syscall_cells(const std::vector<plan::Point>& points, bool enters, const SystemCalls& calls) {
    SyscallCells cells;
    for (const plan::Point& point : points) {
        const uint32_t here = point.row - points[0].row + 1;
        cells.most = std::max(cells.most, here);
        if (point.number >= 0)
            cells.by_number[point.number].wide = here;
        if (point.function == sigreturn && !enters)
            cells.by_number[after_sigreturn].wide = here;
        for (const plan::NarrowCall& call : point.narrow_calls) {
            if (call.number < SONDE_INNER_CALLS) {
                cells.by_number[call.number].narrow = here;
                continue;
            }
            cells.inner.resize(SONDE_INNER_COUNT);
            cells.inner[static_cast<size_t>(call.number - SONDE_INNER_CALLS)] = here;
        }
    }
    CHECK(cells.most < has_inner_calls);
    if (!cells.inner.empty())
        for (int64_t outer : calls.outer_calls)
            cells.by_number[outer].narrow = has_inner_calls;
    return cells;
}

// Loads an element of a constant table; `index` must be less than the table's size.
llvm::Value* table_element(Emitter& e, const char* name, const std::vector<uint32_t>& elements, llvm::Value* index) {
    auto* table = new llvm::GlobalVariable(
        e.module(), llvm::ArrayType::get(e.getInt32Ty(), elements.size()), true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantDataArray::get(e.getContext(), llvm::ArrayRef<uint32_t>(elements)), name);
    table->setSection(".rodata");
    table->setAlignment(llvm::Align(8));
    // Masked: the verifier may have forgotten the comparison, which was made with another copy of the number.
    llvm::Value* safe = e.masked(index, elements.size() - 1);
    return e.CreateZExt(e.CreateLoad(e.getInt32Ty(), e.CreateGEP(e.getInt32Ty(), table, safe)), e.i64());
}

// The cell of this call's number, or 0 if the number is not probed. The handler may end here.
llvm::Value* syscall_cell(BpfContext& bpf, llvm::Value* called, const SyscallCells& cells) {
    Emitter& e = bpf.e;
    auto word = [](const SyscallCell& cell) { return cell.wide | cell.narrow << half_cell; };
    constexpr size_t few = 3;
    if (cells.by_number.size() <= few) {
        llvm::Value* found = e.number(0);
        for (const auto& [number, cell] : cells.by_number)
            found = e.CreateSelect(e.CreateICmpEQ(called, e.number(number)), e.number(word(cell)), found);
        return found;
    }
    const int64_t first = cells.by_number.begin()->first, last = cells.by_number.rbegin()->first;
    const int64_t begin = std::min<int64_t>(first, 0);
    // LLVM puts constants of up to 32 bytes into a section for mergeable constants, which libbpf does not load as
    // .rodata.
    constexpr uint64_t least = 16;
    std::vector<uint32_t> table(std::bit_ceil(std::max(least, static_cast<uint64_t>(last - begin + 1))));
    for (const auto& [number, cell] : cells.by_number)
        table[static_cast<size_t>(number - begin)] = word(cell);
    llvm::Value* index = e.CreateSub(called, e.number(begin));
    go_if(bpf, e.CreateICmpULT(index, e.number(static_cast<int64_t>(table.size()))));
    return table_element(e, "syscall_rows", table, index);
}

// A table of the argument positions of all system calls of 32-bit programs, by number. A module has only one.
llvm::Value* argument_table(BpfContext& bpf) {
    constexpr const char* name = "call_arguments";
    if (llvm::GlobalVariable* made = bpf.e.module().getGlobalVariable(name, true))
        return made;
    std::vector<uint64_t> table(std::bit_ceil<uint64_t>(SONDE_INNER_CALLS + SONDE_INNER_COUNT));
    for (const plan::Point& point : bpf.state.plan.rows)
        for (const plan::NarrowCall& call : point.narrow_calls)
            table[static_cast<size_t>(call.number)] = call.arguments;
    auto* made = new llvm::GlobalVariable(
        bpf.e.module(), llvm::ArrayType::get(bpf.e.i64(), table.size()), true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantDataArray::get(bpf.e.getContext(), llvm::ArrayRef<uint64_t>(table)), name);
    made->setSection(".rodata");
    made->setAlignment(llvm::Align(8));
    return made;
}

bool reads_call_registers(const hir::Handler& handler) {
    bool found = false;
    for_each_expr(handler, [&](const hir::Expr& expr) {
        found = found || (expr.kind == hir::ExprKind::Argument &&
                          hir::as<hir::Argument>(expr).number == hir::Argument::call_registers);
    });
    return found;
}

// Copies the arguments of a 32-bit program to the stack, in the order of a 64-bit program's registers. The arguments of
// a 64-bit program are also copied if the result has overwritten one of them. Returns the address of these or of the
// original registers.
llvm::Value* call_registers(BpfContext& bpf, llvm::Value* regs, llvm::Value* called, llvm::Value* is_narrow,
                            bool is_overwritten) {
    Emitter& e = bpf.e;
    llvm::Value *place = e.stack(8), *copy = e.scratch("call_registers", e.system_calls().argument_bytes);
    e.CreateStore(is_overwritten ? e.routine("sonde_rt_kept_registers", e.i64(), {regs, copy}) : regs, place);
    llvm::BasicBlock *narrow = e.block("narrow_call"), *ready = e.block("registers");
    e.CreateCondBr(is_narrow, narrow, ready);
    e.SetInsertPoint(narrow);
    e.CreateStore(e.routine("sonde_rt_call_registers", e.i64(), {regs, called, argument_table(bpf), copy}), place);
    e.CreateBr(ready);
    e.SetInsertPoint(ready);
    return e.CreateLoad(e.i64(), place);
}

// Finds which of the handler's system calls this is, and sets its row. The handler ends at any other call. The calls of
// 32-bit programs have their own numbers.
llvm::Value* find_syscall(BpfContext& bpf, Registers& registers, Environment& env, const hir::Handler& handler,
                          const std::vector<plan::Point>& points) {
    Emitter& e = bpf.e;
    const RegisterFile& file = e.registers();
    llvm::Value* regs = registers.argument(env, 0);
    auto field = [&](int number) {
        llvm::Value* value = e.scratch("load", 8);
        e.CreateStore(e.number(0), value);
        helper(e, probe_read_kernel, {value, e.number(8), e.CreateAdd(regs, e.number(file.offset(number)))});
        return whole_register(e, number, e.CreateLoad(e.i64(), value));
    };
    const bool enters = points[0].symbol == "sys_enter" || bpf.saves_entry;
    const SyscallCells cells = syscall_cells(points, enters, e.system_calls());
    llvm::Value* called = enters ? registers.argument(env, 1) : field(syscall_number_register);
    if (cells.by_number.contains(beyond_table))
        called = e.CreateSelect(e.CreateICmpSGT(called, e.number(beyond_table)), e.number(beyond_table), called);
    llvm::Value* cell = syscall_cell(bpf, called, cells);
    go_if(bpf, e.CreateICmpNE(cell, e.number(0)));
    llvm::Value *wide = e.CreateAnd(cell, e.number(has_inner_calls)), *here = wide;
    // Without the kernel's types, a 32-bit call can only be recognized by its registers, and is skipped.
    if (!bpf.state.facts.kernel_types) {
        go_if(bpf, holds(e, file.in_wide_mode, field(file.in_wide_mode.number)));
    } else {
        env.in_32_bit_call = e.routine("sonde_rt_in_compat_call", e.i64(), {regs});
        llvm::Value* is_narrow = e.CreateICmpNE(env.in_32_bit_call, e.number(0));
        here = e.CreateSelect(is_narrow, e.CreateLShr(cell, e.number(half_cell)), wide);
    }
    if (bpf.state.facts.kernel_types && !cells.inner.empty()) {
        llvm::Value* place = e.stack(8);
        e.CreateStore(here, place);
        llvm::BasicBlock *inside = e.block("inner_call"), *found = e.block("call");
        e.CreateCondBr(e.CreateICmpEQ(here, e.number(has_inner_calls)), inside, found);
        e.SetInsertPoint(inside);
        llvm::Value* inner = e.routine("sonde_rt_inner_call", e.i64(), {regs, called});
        go_if(bpf, e.CreateICmpULT(inner, e.number(SONDE_INNER_COUNT)));
        e.CreateStore(table_element(e, "inner_calls", cells.inner, inner), place);
        e.CreateBr(found);
        e.SetInsertPoint(found);
        here = e.CreateLoad(e.i64(), place);
    }
    go_if(bpf, e.CreateICmpNE(here, e.number(0)));
    const bool has_narrow =
        std::ranges::any_of(points, [](const plan::Point& point) { return !point.narrow_calls.empty(); });
    const bool is_overwritten = !enters && e.system_calls().overwrites_argument();
    if (((env.in_32_bit_call && has_narrow) || is_overwritten) && reads_call_registers(handler)) {
        llvm::Value* is_narrow = env.in_32_bit_call && has_narrow ? e.CreateICmpNE(env.in_32_bit_call, e.number(0))
                                                                  : static_cast<llvm::Value*>(e.getFalse());
        env.call_registers = call_registers(bpf, regs, called, is_narrow, is_overwritten);
    }
    if (points.size() == 1)
        return e.getInt32(points[0].row);
    return e.CreateTrunc(e.CreateAdd(here, e.number(static_cast<int64_t>(points[0].row) - 1)), e.getInt32Ty());
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
    llvm::Value* word = helper_pointer(e, map_lookup_elem, {map_reference(e, plan::maps::targets), index});
    go_if(bpf, e.CreateIsNotNull(word));
    llvm::Value* bits = e.CreateLShr(e.CreateLoad(e.i64(), word), e.CreateAnd(process, e.number(63)));
    llvm::BasicBlock *other = e.block("outside"), *in = e.block("inside");
    e.CreateCondBr(e.CreateICmpNE(e.CreateAnd(bits, e.number(1)), e.number(0)), in, other);
    e.SetInsertPoint(other);
    accounting.mark(plan::Mark::Outside, e.number(bpf.probe));
    e.CreateBr(bpf.out);
    e.SetInsertPoint(in);
}

// One look-up suffices at any depth: the map also has the groups below the chosen ones.
void filter_groups(BpfContext& bpf, BpfAccounting& accounting, Environment& env) {
    Emitter& e = bpf.e;
    llvm::Value* key = e.scratch("group", 8);
    e.CreateStore(BpfTask(bpf).group(env), key);
    llvm::Value* found = helper_pointer(e, map_lookup_elem, {map_reference(e, plan::maps::groups), key});
    llvm::BasicBlock *other = e.block("outside"), *in = e.block("inside");
    e.CreateCondBr(e.CreateIsNotNull(found), in, other);
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
    if (!probe.points.empty() && probe.points[0].is_system_call())
        env.row = find_syscall(bpf, registers, env, handler, probe.points);
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
