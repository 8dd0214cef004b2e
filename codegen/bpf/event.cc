// What a handler in the kernel is told of its event: which point it is, the task, registers and arguments, memory,
// values from the function's entry.
#include <algorithm>
#include <bit>
#include <cstddef>

#include "codegen/bpf/target_bpf.h"
#include "codegen/rtlib/pt_regs.h"
#include "frontend/hir/walk.h"

namespace sonde {
namespace {

// By DWARF register number (System V psABI, figure 3.36).
constexpr uint32_t register_offsets[17] = {
    SONDE_REGS_AX,  SONDE_REGS_DX,  SONDE_REGS_CX,  SONDE_REGS_BX,  SONDE_REGS_SI,  SONDE_REGS_DI,
    SONDE_REGS_BP,  SONDE_REGS_SP,  SONDE_REGS_R8,  SONDE_REGS_R9,  SONDE_REGS_R10, SONDE_REGS_R11,
    SONDE_REGS_R12, SONDE_REGS_R13, SONDE_REGS_R14, SONDE_REGS_R15, SONDE_REGS_IP};
constexpr int rbp = 6, rsp = 7, r14 = 14;

int64_t offset_of(int number) {
    switch (number) {
    case hir::Register::syscall_number:
        return SONDE_REGS_ORIG_AX;
    case hir::Register::flags:
        return SONDE_REGS_FLAGS;
    case hir::Register::cs:
        return SONDE_REGS_CS;
    case hir::Register::ss:
        return SONDE_REGS_SS;
    default:
        return register_offsets[number];
    }
}

} // namespace

llvm::Value* BpfTarget::task_number(Environment& env, const std::string& what) {
    if (what == "cpu")
        return e_.CreateAnd(helper(get_smp_processor_id, {}), e_.number(0xffffffff));
    if (what == "random" || what == "jiffies")
        return e_.routine("sonde_rt_" + what, e_.i64(), {});
    if (what == "__pid_level")
        return numbering(offsetof(sonde_numbering, level));
    if (what == "__pid_space")
        return numbering(offsetof(sonde_numbering, space));
    // Programs about packets have fewer helpers.
    if (plan::is_about_no_task(kind_))
        return e_.routine("sonde_rt_" + what, e_.i64(), {e_.number(0)});
    llvm::Value* result = e_.stack(8);
    with_task(
        env,
        [&] {
            e_.CreateStore(what == "pid" || what == "tid" ? own_number(what)
                           : what == "kernel_pid" ? e_.CreateLShr(helper(get_current_pid_tgid, {}), e_.number(32))
                           : what == "uid"        ? e_.CreateAnd(helper(get_current_uid_gid, {}), e_.number(0xffffffff))
                           : what == "gid"        ? e_.CreateLShr(helper(get_current_uid_gid, {}), e_.number(32))
                           : what == "task_current" ? helper(get_current_task, {})
                                                    : e_.routine("sonde_rt_" + what, e_.i64(), {e_.number(0)}),
                           result);
        },
        [&] {
            e_.CreateStore(what == "task_current" ? env.task : e_.routine("sonde_rt_" + what, e_.i64(), {env.task}),
                           result);
        });
    return e_.CreateLoad(e_.i64(), result);
}

llvm::Value* BpfTarget::numbering(uint64_t field) {
    auto* load = e_.CreateLoad(e_.i64(), e_.offset(e_.module().getOrInsertGlobal("sonde_numbering", e_.i64()), field));
    load->setVolatile(true); // it is the verifier that knows it
    return load;
}

llvm::Value* BpfTarget::own_number(const std::string& what) {
    llvm::Value* level = numbering(offsetof(sonde_numbering, level));
    llvm::BasicBlock *initial = e_.block("initial"), *other = e_.block("namespace"), *end = e_.block("number");
    e_.CreateCondBr(e_.CreateICmpEQ(level, e_.number(0)), initial, other);
    e_.SetInsertPoint(initial);
    llvm::Value* both = helper(get_current_pid_tgid, {});
    llvm::Value* here = what == "pid" ? e_.CreateLShr(both, e_.number(32)) : e_.CreateAnd(both, e_.number(0xffffffff));
    e_.CreateBr(end);
    e_.SetInsertPoint(other);
    llvm::Value* there = e_.routine("sonde_rt_own_" + what, e_.i64(), {});
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
    auto* out = e_.CreatePHI(e_.i64(), 2);
    out->addIncoming(here, initial);
    out->addIncoming(there, other);
    return out;
}

void BpfTarget::execname(Environment& env, llvm::Value* slot) {
    if (plan::is_about_no_task(kind_)) {
        e_.routine("sonde_rt_execname", e_.i64(), {slot, e_.number(0)});
        return;
    }
    with_task(
        env,
        [&] {
            if (state_.options.kernel_types)
                e_.routine("sonde_rt_current_comm", e_.i64(), {slot});
            else
                helper(get_current_comm, {slot, e_.number(16)});
        },
        [&] { e_.routine("sonde_rt_execname", e_.i64(), {slot, env.task}); });
}

llvm::Value* BpfTarget::clock(Environment& env, const std::string& what) {
    llvm::Value* now = helper(ktime_get_ns, {});
    if (what != "gettimeofday_ns")
        return now;
    return e_.CreateAdd(now,
                        e_.CreateLoad(e_.i64(), e_.offset(env.data, offsetof(plan::SessionWords, realtime_offset_ns))));
}

llvm::Value* BpfTarget::user_register(Environment& env, int number_) {
    if (number_ == hir::Register::thread_pointer)
        return e_.routine("sonde_rt_thread_pointer", e_.i64(), {});
    const int64_t at = offset_of(number_);
    if (plan::traits(kind_).context == plan::Context::Saved) {
        llvm::Value* value = e_.scratch("register", 8);
        helper(probe_read_kernel, {value, e_.number(8), e_.CreateAdd(context_word(env, 0), e_.number(at))});
        return e_.CreateLoad(e_.i64(), value);
    }
    return context_word(env, static_cast<uint64_t>(at));
}

llvm::Value* BpfTarget::user_mode(Environment& env) {
    if (!plan::is_sample(kind_))
        return e_.number(plan::is_uprobe(kind_));
    // What was interrupted: the lowest bits of its code segment are its privilege.
    return e_.CreateZExt(e_.CreateICmpEQ(e_.CreateAnd(context_word(env, SONDE_REGS_CS), e_.number(SONDE_CS_PRIVILEGE)),
                                         e_.number(SONDE_CS_PRIVILEGE)),
                         e_.i64());
}

void BpfTarget::count_no_stack(llvm::Value* stack) {
    counts_stacks_ = true;
    e_.routine("sonde_rt_count_no_stack", e_.i64(), {stack, e_.number(probe_)});
}

bool BpfTarget::trace(llvm::Value* text) {
    const std::string format = "%s";
    helper(trace_printk, {e_.literal(format), e_.number(static_cast<int64_t>(format.size() + 1)), text});
    return true;
}

llvm::Value* BpfTarget::raise_signal(llvm::Value* signal) {
    return helper(send_signal_thread, {e_.CreateTrunc(signal, e_.getInt32Ty())});
}

llvm::Value* BpfTarget::numbered_argument(Environment& env, llvm::Value* number_, llvm::Value*& fault) {
    llvm::Value* value = e_.scratch("argument", 8);
    e_.CreateStore(e_.number(0), value);
    fault = helper(get_func_arg, {env.context, e_.CreateTrunc(number_, e_.getInt32Ty()), value});
    return e_.CreateLoad(e_.i64(), value);
}

llvm::Value* BpfTarget::argument(Environment& env, int number_) {
    // System V: rdi, rsi, rdx, rcx, r8, r9, then the stack above the return address.
    static constexpr int registers[] = {5, 4, 1, 2, 8, 9};
    bool result = number_ == hir::Argument::result;
    switch (plan::traits(kind_).context) {
    case plan::Context::Words:
        return context_word(env, 8ull * static_cast<unsigned>(number_));
    case plan::Context::Memory: {
        // Read as memory, for the same reason as below; these have no helper for it.
        llvm::Value* value = e_.scratch("argument", 8);
        helper(probe_read_kernel, {value, e_.number(8), e_.offset(env.context, 8ull * static_cast<unsigned>(number_))});
        return e_.CreateLoad(e_.i64(), value);
    }
    case plan::Context::Helpers: {
        // By helpers, which the verifier inlines, and not from the context: those would be typed pointers, and
        // numbers are what a script computes with.
        llvm::Value* value = e_.scratch("argument", 8);
        e_.CreateStore(e_.number(0), value);
        if (result)
            helper(get_func_ret, {env.context, value});
        else
            helper(get_func_arg, {env.context, e_.getInt32(static_cast<uint32_t>(number_)), value});
        return e_.CreateLoad(e_.i64(), value);
    }
    case plan::Context::None:
    case plan::Context::Registers:
    case plan::Context::Saved:
    case plan::Context::Sampled:
        break;
    }
    if (result)
        return user_register(env, 0);
    if (static_cast<size_t>(number_) < std::size(registers))
        return user_register(env, registers[number_]);
    llvm::Value* value = e_.scratch("argument", 8);
    auto above = 8 * (number_ - static_cast<int>(std::size(registers)) + 1);
    helper(probe_read_kernel, {value, e_.number(8), e_.CreateAdd(user_register(env, 7), e_.number(above))});
    return e_.CreateLoad(e_.i64(), value);
}

llvm::Value* BpfTarget::read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                                    bool user) {
    if (address->getType()->isPointerTy() || !user)
        return helper(probe_read_kernel, {buffer, e_.number(size), address});
    return e_.routine("sonde_rt_read_user", e_.i64(), {buffer, e_.getInt32(size), address, may_wait(env)});
}

llvm::Value* BpfTarget::write_memory(Environment&, llvm::Value* buffer, uint32_t size, llvm::Value* address) {
    return e_.routine("sonde_rt_write_user", e_.i64(), {buffer, e_.getInt32(size), address});
}

llvm::Value* BpfTarget::write_block(Environment&, llvm::Value* slot, llvm::Value* size, llvm::Value* address) {
    return e_.routine("sonde_rt_write_user_block", e_.i64(), {slot, size, address});
}

llvm::Value* BpfTarget::read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) {
    return e_.routine("sonde_rt_read_user_block", e_.i64(), {slot, size, address, may_wait(env)});
}

llvm::Value* BpfTarget::read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                                  bool user) {
    if (!user)
        return e_.routine("sonde_rt_read_kernel_wide", e_.i64(), {slot, e_.number(width), address});
    return e_.routine("sonde_rt_read_user_wide", e_.i64(), {slot, e_.number(width), address, may_wait(env)});
}

llvm::Value* BpfTarget::read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                                    bool user) {
    llvm::Value* got = user ? e_.routine("sonde_rt_read_user_string", e_.i64(), {slot, size, address, may_wait(env)})
                            : e_.routine("sonde_rt_read_kernel_string", e_.i64(), {slot, size, address});
    return e_.CreateZExt(e_.CreateICmpSLT(got, e_.number(0)), e_.i64());
}

void BpfTarget::symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value* work) {
    e_.routine("sonde_rt_symbol", e_.i64(), {slot, address, style, work});
}

void BpfTarget::kernel_symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                              llvm::Value* work) {
    e_.routine("sonde_rt_kernel_symbol", e_.i64(), {slot, address, style, work});
}

llvm::Value* BpfTarget::argument_words(Environment& env) { return helper(get_func_arg_cnt, {env.context}); }

llvm::Value* BpfTarget::kernel_function(Environment& env) {
    llvm::Value* function = helper(get_func_ip, {env.context}); // of a breakpoint elsewhere: 0
    if (!plan::is_kernel_breakpoint(kind_) || plan::traits(kind_).at_return)
        return function;
    llvm::Value* behind_breakpoint = user_register(env, 16);
    return e_.CreateSelect(e_.CreateICmpNE(function, e_.number(0)), function,
                           e_.CreateSub(behind_breakpoint, e_.number(1)));
}

llvm::Value* BpfTarget::counter(Environment&, uint32_t index) {
    return e_.routine("sonde_rt_counter", e_.i64(), {e_.number(index)});
}

llvm::Value* BpfTarget::goroutine_key(Environment& env, llvm::Value* place) {
    constexpr int stack_high = 8;
    llvm::Value* goroutine = user_register(env, r14);
    llvm::Value* high = e_.scratch("stack_high", 8);
    e_.CreateStore(e_.number(0), high);
    read_memory(env, high, 8, e_.CreateAdd(goroutine, e_.number(stack_high)), true);
    // A stack has at most 1 GB; other processes have goroutines at the same addresses.
    llvm::Value* distance = e_.CreateAnd(e_.CreateSub(e_.CreateLoad(e_.i64(), high), place), e_.number(UINT32_MAX));
    llvm::Value* process = e_.CreateAnd(helper(get_current_pid_tgid, {}), e_.number(INT64_C(-1) << 32));
    return saved_key(e_.CreateOr(process, distance), goroutine);
}

// An element of the last call from there is written over where it lies, which costs a tenth of putting another one in
// its place: the map keeps those that were used last, and takes a new one for every update. Its key is this very
// call's.
void BpfTarget::save_entry_values(Environment& env, const hir::Handler& handler, llvm::Value* values,
                                  llvm::Value* return_address) {
    if (legs_.wanted)
        e_.CreateStore(e_.number(0), refused_);
    if (!handler.at_return)
        count_full_returns();
    if (legs_.in_record)
        e_.CreateStore(e_.CreateLoad(e_.i64(), e_.offset(values, state_.entry_offset(handler, *legs_.in_record))),
                       helper_pointer(plan::call_session_cookie, {context_argument_}));
    if (state_.plan.probes[probe_].entry_map.empty())
        return;
    constexpr uint64_t most_bytes = 64; // beyond that the kernel copies faster
    llvm::Value* saved = map_reference(state_.plan.probes[probe_].entry_map);
    llvm::Value* key = return_address ? saved_key(return_address) : key_at_entry(env, handler);
    const uint64_t bytes = state_.entry_offset(handler, handler.entry_values.size());
    llvm::BasicBlock *put = e_.block("put"), *end = e_.block("saved");
    if (bytes <= most_bytes) {
        llvm::Value* element = helper_pointer(map_lookup_elem, {saved, key});
        llvm::BasicBlock* there = e_.block("there");
        e_.CreateCondBr(e_.CreateIsNotNull(element), there, put);
        e_.SetInsertPoint(there);
        for (uint64_t at = 0; at < bytes; at += 8)
            e_.CreateStore(e_.CreateLoad(e_.i64(), e_.offset(values, at)), e_.offset(element, at));
        e_.CreateBr(end);
    } else {
        e_.CreateBr(put);
    }
    e_.SetInsertPoint(put);
    helper(map_update_elem, {saved, key, values, e_.number(0)});
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

llvm::Value* BpfTarget::entry_value(Environment&, const hir::Handler& handler, uint32_t index, llvm::Value* slot) {
    llvm::Value* at = legs_.in_record && !saves_entry_ ? entry_element_
                                                       : e_.offset(entry_element_, state_.entry_offset(handler, index));
    if (!slot)
        return e_.CreateLoad(e_.i64(), at);
    e_.routine("sonde_rt_copy", e_.i64(), {slot, at});
    return slot;
}

std::optional<int> BpfTarget::task_argument(const hir::Handler& handler) {
    std::optional<int> found;
    if (const int8_t by_kind = plan::traits(handler.kind).task_argument; by_kind >= 0)
        found = by_kind;
    for_each_expr(*handler.body, [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(expr).facts.names_task)
            found = static_cast<int>(hir::as<hir::ConstLong>(*hir::as<hir::Intrinsic>(expr).args[0]).value);
    });
    return found;
}

llvm::Value* BpfTarget::begin_event(plan::ProbeKind kind, Environment& env) {
    const bool thread = plan::is_about(kind, plan::Subject::Thread);
    if (plan::traits(kind).user == plan::UserRegisters::Gone) {
        llvm::Value* program = e_.routine("sonde_rt_ended", e_.i64(), {context_argument_, e_.number(thread)});
        go_if(e_.CreateICmpNE(program, e_.number(0)));
        return program;
    }
    if (plan::follows_tasks(kind)) {
        env.task = e_.routine("sonde_rt_begun", e_.i64(), {context_argument_, e_.number(thread)});
        go_if(e_.CreateICmpNE(env.task, e_.number(0)));
    }
    return e_.routine("sonde_rt_program", e_.i64(), {env.task});
}

void BpfTarget::find_row(const hir::Handler& handler, uint32_t index, llvm::Value* program, Environment& env) {
    const plan::Probe& probe = state_.plan.probes[index];
    bool event = plan::is_task_event(handler.kind), one = probe.points.size() == 1;
    env.row = first_row(index);
    if (!probe.points.empty() && probe.points[0].number >= 0)
        env.row = find_syscall(env, probe.points);
    else if (!one && !event)
        env.row = e_.CreateTrunc(helper(get_attach_cookie, {context_argument_}), e_.getInt32Ty());
    if (!probe.has_subjects())
        return;
    llvm::Value* group =
        event ? e_.number(index)
              : e_.CreateOr(e_.CreateZExt(env.row, e_.i64()),
                            e_.number(static_cast<int64_t>(plan::Probe::subject_group(handler.kind, index, 0))));
    if (!program)
        program = e_.routine("sonde_rt_program", e_.i64(), {e_.number(0)});
    llvm::Value* found = e_.routine("sonde_rt_subject", e_.i64(), {program, task_number(env, "kernel_pid"), group});
    go_if(e_.CreateICmpSGE(found, e_.number(0)));
    if (!one)
        env.row = e_.CreateTrunc(found, e_.getInt32Ty());
}

llvm::Value* BpfTarget::context_word(Environment& env, uint64_t at) {
    auto* load = e_.CreateLoad(e_.i64(), e_.offset(env.context, at));
    load->setVolatile(true); // the verifier wants the context's own loads, at constant offsets
    return load;
}

template <typename Here, typename There> void BpfTarget::with_task(Environment& env, Here here, There there) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(env.task);
    if (constant)
        return here();
    llvm::BasicBlock *current = e_.block("current"), *other = e_.block("other"), *end = e_.block("task");
    e_.CreateCondBr(e_.CreateICmpEQ(env.task, e_.number(0)), current, other);
    e_.SetInsertPoint(current);
    here();
    e_.CreateBr(end);
    e_.SetInsertPoint(other);
    there();
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

void BpfTarget::filter_target(Environment& env) {
    llvm::Value *process = task_number(env, "kernel_pid"), *index = e_.scratch("index", 8);
    e_.CreateStore(e_.CreateTrunc(e_.CreateLShr(process, e_.number(6)), e_.getInt32Ty()), index);
    llvm::Value* word = helper_pointer(map_lookup_elem, {map_reference("sonde_targets"), index});
    go_if(e_.CreateIsNotNull(word));
    llvm::Value* bits = e_.CreateLShr(e_.CreateLoad(e_.i64(), word), e_.CreateAnd(process, e_.number(63)));
    llvm::BasicBlock *other = e_.block("outside"), *in = e_.block("inside");
    e_.CreateCondBr(e_.CreateICmpNE(e_.CreateAnd(bits, e_.number(1)), e_.number(0)), in, other);
    e_.SetInsertPoint(other);
    mark(plan::Mark::Outside, e_.number(probe_));
    e_.CreateBr(out_);
    e_.SetInsertPoint(in);
}

llvm::Value* BpfTarget::syscall_cell(llvm::Value* called, const std::vector<plan::Point>& points) {
    // Up to 32 bytes it would be a constant to be merged, which LLVM puts into another section of that name.
    uint64_t most = 15;
    for (const plan::Point& point : points)
        most = std::max(most, static_cast<uint64_t>(point.number));
    std::vector<uint32_t> rows(std::bit_ceil(most + 1));
    for (const plan::Point& point : points)
        rows[static_cast<size_t>(point.number)] = point.row + 1;
    go_if(e_.CreateICmpULT(called, e_.number(static_cast<int64_t>(rows.size()))));
    auto* table = new llvm::GlobalVariable(
        e_.module(), llvm::ArrayType::get(e_.getInt32Ty(), rows.size()), true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantDataArray::get(e_.getContext(), llvm::ArrayRef<uint32_t>(rows)), "syscall_rows");
    table->setSection(".rodata");
    table->setAlignment(llvm::Align(8));
    // The verifier does not remember the comparison with each copy of the number.
    llvm::Value* safe = e_.masked(called, rows.size() - 1);
    return e_.CreateGEP(e_.getInt32Ty(), table, safe);
}

llvm::Value* BpfTarget::find_syscall(Environment& env, const std::vector<plan::Point>& points) {
    llvm::Value* regs = argument(env, 0);
    auto field = [&](int64_t at) {
        llvm::Value* value = e_.scratch("load", 8);
        e_.CreateStore(e_.number(0), value);
        helper(probe_read_kernel, {value, e_.number(8), e_.CreateAdd(regs, e_.number(at))});
        return e_.CreateLoad(e_.i64(), value);
    };
    bool enters = points[0].symbol == "sys_enter" || saves_entry_;
    llvm::Value* called = enters ? argument(env, 1) : field(SONDE_REGS_ORIG_AX);
    // rt_sigreturn restores the registers of before the signal, with -1 for the call's number
    // (arch/x86/kernel/signal.c).
    constexpr int rt_sigreturn = 15;
    if (!enters && std::ranges::any_of(points, [](const plan::Point& point) { return point.number == rt_sigreturn; }))
        called = e_.CreateSelect(e_.CreateICmpEQ(called, e_.number(-1)), e_.number(rt_sigreturn), called);
    // The number stands for all that are beyond the kernel's table (frontend/probes/kind_syscall.cc).
    constexpr int beyond_table = 511;
    if (std::ranges::any_of(points, [](const plan::Point& point) { return point.number == beyond_table; }))
        called = e_.CreateSelect(e_.CreateICmpSGT(called, e_.number(beyond_table)), e_.number(beyond_table), called);
    llvm::Value* row = nullptr;
    if (points.size() == 1) {
        go_if(e_.CreateICmpEQ(called, e_.number(points[0].number)));
        row = e_.getInt32(points[0].row);
    } else {
        llvm::Value* found = e_.CreateLoad(e_.getInt32Ty(), syscall_cell(called, points));
        go_if(e_.CreateICmpNE(found, e_.getInt32(0)));
        row = e_.CreateSub(found, e_.getInt32(1));
    }
    if (state_.options.kernel_types)
        go_if(e_.CreateICmpEQ(e_.routine("sonde_rt_in_compat_call", e_.i64(), {regs}), e_.number(0)));
    else
        go_if(e_.CreateICmpEQ(e_.CreateAnd(field(SONDE_REGS_CS), e_.number(0xffff)), e_.number(SONDE_USER_CS)));
    return row;
}

llvm::Value* BpfTarget::may_wait(Environment& env) {
    sleeps_ = sleeps_ || (plan::is_uprobe(kind_) && !counts_);
    return env.can_wait;
}

llvm::Value* BpfTarget::key_at_entry(Environment& env, const hir::Handler& handler) {
    // The arguments' place on the stack.
    if (plan::is_trampoline(kind_))
        return saved_key(e_.CreatePtrToInt(env.context, e_.i64()));
    // A thread is in one system call.
    if (plan::is_about(kind_, plan::Subject::Tracepoint))
        return saved_key(e_.number(0));
    if (handler.is_go) // behind the check of the stack, where it is still on top
        return goroutine_key(env, user_register(env, rsp));
    // At the very entry the return address is on top of the stack; behind `push %rbp; mov %rsp,%rbp` it is above
    // the frame pointer.
    bool at_entry = handler.points.empty() || handler.points[0].entry_offset == handler.points[0].offset;
    return saved_key(at_entry ? user_register(env, rsp) : e_.CreateAdd(user_register(env, rbp), e_.number(8)));
}

llvm::Value* BpfTarget::key_at_return(Environment& env, const hir::Handler& handler) {
    if (plan::is_about(kind_, plan::Subject::Tracepoint))
        return saved_key(e_.number(0));
    if (plan::is_trampoline(kind_))
        return saved_key(e_.CreatePtrToInt(env.context, e_.i64()));
    // The return has popped the return address, but not yet where the probe is at the return instruction.
    llvm::Value* place = user_register(env, rsp);
    if (handler.is_go)
        return goroutine_key(env, place);
    return saved_key(handler.at_return ? place : e_.CreateSub(place, e_.number(8)));
}

llvm::Value* BpfTarget::saved_key(llvm::Value* place, llvm::Value* owner) {
    llvm::Value* key = e_.scratch("saved", 16);
    e_.CreateStore(owner ? owner : helper(get_current_pid_tgid, {}), key);
    e_.CreateStore(place, e_.offset(key, 8));
    return key;
}

} // namespace sonde
