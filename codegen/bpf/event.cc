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
        return ir_.CreateAnd(helper(get_smp_processor_id, {}), number(0xffffffff));
    if (what == "random" || what == "jiffies")
        return routine("sonde_rt_" + what, i64(), {});
    if (what == "__pid_level")
        return numbering(offsetof(sonde_numbering, level));
    if (what == "__pid_space")
        return numbering(offsetof(sonde_numbering, space));
    // Programs about packets have fewer helpers.
    if (plan::is_about_no_task(kind_))
        return routine("sonde_rt_" + what, i64(), {number(0)});
    llvm::Value* result = stack(8);
    with_task(
        env,
        [&] {
            ir_.CreateStore(what == "pid" || what == "tid" ? own_number(what)
                            : what == "kernel_pid" ? ir_.CreateLShr(helper(get_current_pid_tgid, {}), number(32))
                            : what == "uid"        ? ir_.CreateAnd(helper(get_current_uid_gid, {}), number(0xffffffff))
                            : what == "gid"        ? ir_.CreateLShr(helper(get_current_uid_gid, {}), number(32))
                            : what == "task_current" ? helper(get_current_task, {})
                                                     : routine("sonde_rt_" + what, i64(), {number(0)}),
                            result);
        },
        [&] {
            ir_.CreateStore(what == "task_current" ? env.task : routine("sonde_rt_" + what, i64(), {env.task}), result);
        });
    return ir_.CreateLoad(i64(), result);
}

llvm::Value* BpfTarget::numbering(uint64_t field) {
    auto* load = ir_.CreateLoad(i64(), offset(module_->getOrInsertGlobal("sonde_numbering", i64()), field));
    load->setVolatile(true); // it is the verifier that knows it
    return load;
}

llvm::Value* BpfTarget::own_number(const std::string& what) {
    llvm::Value* level = numbering(offsetof(sonde_numbering, level));
    llvm::BasicBlock *initial = block("initial"), *other = block("namespace"), *end = block("number");
    ir_.CreateCondBr(ir_.CreateICmpEQ(level, number(0)), initial, other);
    ir_.SetInsertPoint(initial);
    llvm::Value* both = helper(get_current_pid_tgid, {});
    llvm::Value* here = what == "pid" ? ir_.CreateLShr(both, number(32)) : ir_.CreateAnd(both, number(0xffffffff));
    ir_.CreateBr(end);
    ir_.SetInsertPoint(other);
    llvm::Value* there = routine("sonde_rt_own_" + what, i64(), {});
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
    auto* out = ir_.CreatePHI(i64(), 2);
    out->addIncoming(here, initial);
    out->addIncoming(there, other);
    return out;
}

void BpfTarget::execname(Environment& env, llvm::Value* slot) {
    if (plan::is_about_no_task(kind_)) {
        routine("sonde_rt_execname", i64(), {slot, number(0)});
        return;
    }
    with_task(
        env,
        [&] {
            if (state_.options.kernel_types)
                routine("sonde_rt_current_comm", i64(), {slot});
            else
                helper(get_current_comm, {slot, number(16)});
        },
        [&] { routine("sonde_rt_execname", i64(), {slot, env.task}); });
}

llvm::Value* BpfTarget::clock(Environment& env, const std::string& what) {
    llvm::Value* now = helper(ktime_get_ns, {});
    if (what != "gettimeofday_ns")
        return now;
    return ir_.CreateAdd(now,
                         ir_.CreateLoad(i64(), offset(env.data, offsetof(plan::SessionWords, realtime_offset_ns))));
}

llvm::Value* BpfTarget::user_register(Environment& env, int number_) {
    if (number_ == hir::Register::thread_pointer)
        return routine("sonde_rt_thread_pointer", i64(), {});
    const int64_t at = offset_of(number_);
    if (plan::traits(kind_).context == plan::Context::Saved) {
        llvm::Value* value = scratch("register", 8);
        helper(probe_read_kernel, {value, number(8), ir_.CreateAdd(context_word(env, 0), number(at))});
        return ir_.CreateLoad(i64(), value);
    }
    return context_word(env, static_cast<uint64_t>(at));
}

llvm::Value* BpfTarget::user_mode(Environment& env) {
    if (!plan::is_sample(kind_))
        return number(plan::is_uprobe(kind_));
    // What was interrupted: the lowest bits of its code segment are its privilege.
    return ir_.CreateZExt(ir_.CreateICmpEQ(ir_.CreateAnd(context_word(env, SONDE_REGS_CS), number(SONDE_CS_PRIVILEGE)),
                                           number(SONDE_CS_PRIVILEGE)),
                          i64());
}

void BpfTarget::count_no_stack(llvm::Value* stack) {
    counts_stacks_ = true;
    routine("sonde_rt_count_no_stack", i64(), {stack, number(probe_)});
}

bool BpfTarget::trace(llvm::Value* text) {
    const std::string format = "%s";
    helper(trace_printk, {literal(format), number(static_cast<int64_t>(format.size() + 1)), text});
    return true;
}

llvm::Value* BpfTarget::raise_signal(llvm::Value* signal) {
    return helper(send_signal_thread, {ir_.CreateTrunc(signal, ir_.getInt32Ty())});
}

llvm::Value* BpfTarget::numbered_argument(Environment& env, llvm::Value* number_, llvm::Value*& fault) {
    llvm::Value* value = scratch("argument", 8);
    ir_.CreateStore(number(0), value);
    fault = helper(get_func_arg, {env.context, ir_.CreateTrunc(number_, ir_.getInt32Ty()), value});
    return ir_.CreateLoad(i64(), value);
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
        llvm::Value* value = scratch("argument", 8);
        helper(probe_read_kernel, {value, number(8), offset(env.context, 8ull * static_cast<unsigned>(number_))});
        return ir_.CreateLoad(i64(), value);
    }
    case plan::Context::Helpers: {
        // By helpers, which the verifier inlines, and not from the context: those would be typed pointers, and
        // numbers are what a script computes with.
        llvm::Value* value = scratch("argument", 8);
        ir_.CreateStore(number(0), value);
        if (result)
            helper(get_func_ret, {env.context, value});
        else
            helper(get_func_arg, {env.context, ir_.getInt32(static_cast<uint32_t>(number_)), value});
        return ir_.CreateLoad(i64(), value);
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
    llvm::Value* value = scratch("argument", 8);
    auto above = 8 * (number_ - static_cast<int>(std::size(registers)) + 1);
    helper(probe_read_kernel, {value, number(8), ir_.CreateAdd(user_register(env, 7), number(above))});
    return ir_.CreateLoad(i64(), value);
}

llvm::Value* BpfTarget::read_memory(Environment& env, llvm::Value* buffer, uint32_t size, llvm::Value* address,
                                    bool user) {
    if (address->getType()->isPointerTy() || !user)
        return helper(probe_read_kernel, {buffer, number(size), address});
    return routine("sonde_rt_read_user", i64(), {buffer, ir_.getInt32(size), address, may_wait(env)});
}

llvm::Value* BpfTarget::write_memory(Environment&, llvm::Value* buffer, uint32_t size, llvm::Value* address) {
    return routine("sonde_rt_write_user", i64(), {buffer, ir_.getInt32(size), address});
}

llvm::Value* BpfTarget::write_block(Environment&, llvm::Value* slot, llvm::Value* size, llvm::Value* address) {
    return routine("sonde_rt_write_user_block", i64(), {slot, size, address});
}

llvm::Value* BpfTarget::read_block(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address) {
    return routine("sonde_rt_read_user_block", i64(), {slot, size, address, may_wait(env)});
}

llvm::Value* BpfTarget::read_wide(Environment& env, llvm::Value* slot, uint32_t width, llvm::Value* address,
                                  bool user) {
    if (!user)
        return routine("sonde_rt_read_kernel_wide", i64(), {slot, number(width), address});
    return routine("sonde_rt_read_user_wide", i64(), {slot, number(width), address, may_wait(env)});
}

llvm::Value* BpfTarget::read_string(Environment& env, llvm::Value* slot, llvm::Value* size, llvm::Value* address,
                                    bool user) {
    llvm::Value* got = user ? routine("sonde_rt_read_user_string", i64(), {slot, size, address, may_wait(env)})
                            : routine("sonde_rt_read_kernel_string", i64(), {slot, size, address});
    return ir_.CreateZExt(ir_.CreateICmpSLT(got, number(0)), i64());
}

void BpfTarget::symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style, llvm::Value* work) {
    routine("sonde_rt_symbol", i64(), {slot, address, style, work});
}

void BpfTarget::kernel_symbol(Environment&, llvm::Value* slot, llvm::Value* address, llvm::Value* style,
                              llvm::Value* work) {
    routine("sonde_rt_kernel_symbol", i64(), {slot, address, style, work});
}

llvm::Value* BpfTarget::argument_words(Environment& env) { return helper(get_func_arg_cnt, {env.context}); }

llvm::Value* BpfTarget::kernel_function(Environment& env) {
    llvm::Value* function = helper(get_func_ip, {env.context}); // of a breakpoint elsewhere: 0
    if (!plan::is_kernel_breakpoint(kind_) || plan::traits(kind_).at_return)
        return function;
    llvm::Value* behind_breakpoint = user_register(env, 16);
    return ir_.CreateSelect(ir_.CreateICmpNE(function, number(0)), function,
                            ir_.CreateSub(behind_breakpoint, number(1)));
}

llvm::Value* BpfTarget::counter(Environment&, uint32_t index) {
    return routine("sonde_rt_counter", i64(), {number(index)});
}

llvm::Value* BpfTarget::goroutine_key(Environment& env, llvm::Value* place) {
    constexpr int stack_high = 8;
    llvm::Value* goroutine = user_register(env, r14);
    llvm::Value* high = scratch("stack_high", 8);
    ir_.CreateStore(number(0), high);
    read_memory(env, high, 8, ir_.CreateAdd(goroutine, number(stack_high)), true);
    // A stack has at most 1 GB; other processes have goroutines at the same addresses.
    llvm::Value* distance = ir_.CreateAnd(ir_.CreateSub(ir_.CreateLoad(i64(), high), place), number(UINT32_MAX));
    llvm::Value* process = ir_.CreateAnd(helper(get_current_pid_tgid, {}), number(INT64_C(-1) << 32));
    return saved_key(ir_.CreateOr(process, distance), goroutine);
}

// An element of the last call from there is written over where it lies, which costs a tenth of putting another one in
// its place: the map keeps those that were used last, and takes a new one for every update. Its key is this very
// call's.
void BpfTarget::save_entry_values(Environment& env, const hir::Handler& handler, llvm::Value* values,
                                  llvm::Value* return_address) {
    if (legs_.wanted)
        ir_.CreateStore(number(0), refused_);
    if (!handler.at_return)
        count_full_returns();
    if (legs_.in_record)
        ir_.CreateStore(ir_.CreateLoad(i64(), offset(values, entry_offset(handler, *legs_.in_record))),
                        helper_pointer(plan::call_session_cookie, {context_argument_}));
    if (state_.plan.probes[probe_].entry_map.empty())
        return;
    constexpr uint64_t most_bytes = 64; // beyond that the kernel copies faster
    llvm::Value* saved = map_reference(state_.plan.probes[probe_].entry_map);
    llvm::Value* key = return_address ? saved_key(return_address) : key_at_entry(env, handler);
    const uint64_t bytes = entry_offset(handler, handler.entry_values.size());
    llvm::BasicBlock *put = block("put"), *end = block("saved");
    if (bytes <= most_bytes) {
        llvm::Value* element = helper_pointer(map_lookup_elem, {saved, key});
        llvm::BasicBlock* there = block("there");
        ir_.CreateCondBr(ir_.CreateIsNotNull(element), there, put);
        ir_.SetInsertPoint(there);
        for (uint64_t at = 0; at < bytes; at += 8)
            ir_.CreateStore(ir_.CreateLoad(i64(), offset(values, at)), offset(element, at));
        ir_.CreateBr(end);
    } else {
        ir_.CreateBr(put);
    }
    ir_.SetInsertPoint(put);
    helper(map_update_elem, {saved, key, values, number(0)});
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
}

llvm::Value* BpfTarget::entry_value(Environment&, const hir::Handler& handler, uint32_t index, llvm::Value* slot) {
    llvm::Value* at =
        legs_.in_record && !saves_entry_ ? entry_element_ : offset(entry_element_, entry_offset(handler, index));
    if (!slot)
        return ir_.CreateLoad(i64(), at);
    routine("sonde_rt_copy", i64(), {slot, at});
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
        llvm::Value* program = routine("sonde_rt_ended", i64(), {context_argument_, number(thread)});
        go_if(ir_.CreateICmpNE(program, number(0)));
        return program;
    }
    if (plan::follows_tasks(kind)) {
        env.task = routine("sonde_rt_begun", i64(), {context_argument_, number(thread)});
        go_if(ir_.CreateICmpNE(env.task, number(0)));
    }
    return routine("sonde_rt_program", i64(), {env.task});
}

void BpfTarget::find_row(const hir::Handler& handler, uint32_t index, llvm::Value* program, Environment& env) {
    const plan::Probe& probe = state_.plan.probes[index];
    bool event = plan::is_task_event(handler.kind), one = probe.points.size() == 1;
    env.row = first_row(index);
    if (!probe.points.empty() && probe.points[0].number >= 0)
        env.row = find_syscall(env, probe.points);
    else if (!one && !event)
        env.row = ir_.CreateTrunc(helper(get_attach_cookie, {context_argument_}), ir_.getInt32Ty());
    if (!probe.has_subjects())
        return;
    llvm::Value* group =
        event ? number(index)
              : ir_.CreateOr(ir_.CreateZExt(env.row, i64()),
                             number(static_cast<int64_t>(plan::Probe::subject_group(handler.kind, index, 0))));
    if (!program)
        program = routine("sonde_rt_program", i64(), {number(0)});
    llvm::Value* found = routine("sonde_rt_subject", i64(), {program, task_number(env, "kernel_pid"), group});
    go_if(ir_.CreateICmpSGE(found, number(0)));
    if (!one)
        env.row = ir_.CreateTrunc(found, ir_.getInt32Ty());
}

llvm::Value* BpfTarget::context_word(Environment& env, uint64_t at) {
    auto* load = ir_.CreateLoad(i64(), offset(env.context, at));
    load->setVolatile(true); // the verifier wants the context's own loads, at constant offsets
    return load;
}

template <typename Here, typename There> void BpfTarget::with_task(Environment& env, Here here, There there) {
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(env.task);
    if (constant)
        return here();
    llvm::BasicBlock *current = block("current"), *other = block("other"), *end = block("task");
    ir_.CreateCondBr(ir_.CreateICmpEQ(env.task, number(0)), current, other);
    ir_.SetInsertPoint(current);
    here();
    ir_.CreateBr(end);
    ir_.SetInsertPoint(other);
    there();
    ir_.CreateBr(end);
    ir_.SetInsertPoint(end);
}

void BpfTarget::filter_target(Environment& env) {
    llvm::Value *process = task_number(env, "kernel_pid"), *index = scratch("index", 8);
    ir_.CreateStore(ir_.CreateTrunc(ir_.CreateLShr(process, number(6)), ir_.getInt32Ty()), index);
    llvm::Value* word = helper_pointer(map_lookup_elem, {map_reference("sonde_targets"), index});
    go_if(ir_.CreateIsNotNull(word));
    llvm::Value* bits = ir_.CreateLShr(ir_.CreateLoad(i64(), word), ir_.CreateAnd(process, number(63)));
    llvm::BasicBlock *other = block("outside"), *in = block("inside");
    ir_.CreateCondBr(ir_.CreateICmpNE(ir_.CreateAnd(bits, number(1)), number(0)), in, other);
    ir_.SetInsertPoint(other);
    mark(plan::Mark::Outside, number(probe_));
    ir_.CreateBr(out_);
    ir_.SetInsertPoint(in);
}

llvm::Value* BpfTarget::syscall_cell(llvm::Value* called, const std::vector<plan::Point>& points) {
    // Up to 32 bytes it would be a constant to be merged, which LLVM puts into another section of that name.
    uint64_t most = 15;
    for (const plan::Point& point : points)
        most = std::max(most, static_cast<uint64_t>(point.number));
    std::vector<uint32_t> rows(std::bit_ceil(most + 1));
    for (const plan::Point& point : points)
        rows[static_cast<size_t>(point.number)] = point.row + 1;
    go_if(ir_.CreateICmpULT(called, number(static_cast<int64_t>(rows.size()))));
    auto* table = new llvm::GlobalVariable(
        *module_, llvm::ArrayType::get(ir_.getInt32Ty(), rows.size()), true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantDataArray::get(*context_, llvm::ArrayRef<uint32_t>(rows)), "syscall_rows");
    table->setSection(".rodata");
    table->setAlignment(llvm::Align(8));
    // The verifier does not remember the comparison with each copy of the number.
    llvm::Value* safe = masked(called, rows.size() - 1);
    return ir_.CreateGEP(ir_.getInt32Ty(), table, safe);
}

llvm::Value* BpfTarget::find_syscall(Environment& env, const std::vector<plan::Point>& points) {
    llvm::Value* regs = argument(env, 0);
    auto field = [&](int64_t at) {
        llvm::Value* value = scratch("load", 8);
        ir_.CreateStore(number(0), value);
        helper(probe_read_kernel, {value, number(8), ir_.CreateAdd(regs, number(at))});
        return ir_.CreateLoad(i64(), value);
    };
    bool enters = points[0].symbol == "sys_enter" || saves_entry_;
    llvm::Value* called = enters ? argument(env, 1) : field(SONDE_REGS_ORIG_AX);
    // rt_sigreturn restores the registers of before the signal, with -1 for the call's number
    // (arch/x86/kernel/signal.c).
    constexpr int rt_sigreturn = 15;
    if (!enters && std::ranges::any_of(points, [](const plan::Point& point) { return point.number == rt_sigreturn; }))
        called = ir_.CreateSelect(ir_.CreateICmpEQ(called, number(-1)), number(rt_sigreturn), called);
    // The number stands for all that are beyond the kernel's table (frontend/probes/kind_syscall.cc).
    constexpr int beyond_table = 511;
    if (std::ranges::any_of(points, [](const plan::Point& point) { return point.number == beyond_table; }))
        called = ir_.CreateSelect(ir_.CreateICmpSGT(called, number(beyond_table)), number(beyond_table), called);
    llvm::Value* row = nullptr;
    if (points.size() == 1) {
        go_if(ir_.CreateICmpEQ(called, number(points[0].number)));
        row = ir_.getInt32(points[0].row);
    } else {
        llvm::Value* found = ir_.CreateLoad(ir_.getInt32Ty(), syscall_cell(called, points));
        go_if(ir_.CreateICmpNE(found, ir_.getInt32(0)));
        row = ir_.CreateSub(found, ir_.getInt32(1));
    }
    if (state_.options.kernel_types)
        go_if(ir_.CreateICmpEQ(routine("sonde_rt_in_compat_call", i64(), {regs}), number(0)));
    else
        go_if(ir_.CreateICmpEQ(ir_.CreateAnd(field(SONDE_REGS_CS), number(0xffff)), number(SONDE_USER_CS)));
    return row;
}

llvm::Value* BpfTarget::may_wait(Environment& env) {
    sleeps_ = sleeps_ || (plan::is_uprobe(kind_) && !counts_);
    return env.can_wait;
}

llvm::Value* BpfTarget::key_at_entry(Environment& env, const hir::Handler& handler) {
    // The arguments' place on the stack.
    if (plan::is_trampoline(kind_))
        return saved_key(ir_.CreatePtrToInt(env.context, i64()));
    // A thread is in one system call.
    if (plan::is_about(kind_, plan::Subject::Tracepoint))
        return saved_key(number(0));
    if (handler.is_go) // behind the check of the stack, where it is still on top
        return goroutine_key(env, user_register(env, rsp));
    // At the very entry the return address is on top of the stack; behind `push %rbp; mov %rsp,%rbp` it is above
    // the frame pointer.
    bool at_entry = handler.points.empty() || handler.points[0].entry_offset == handler.points[0].offset;
    return saved_key(at_entry ? user_register(env, rsp) : ir_.CreateAdd(user_register(env, rbp), number(8)));
}

llvm::Value* BpfTarget::key_at_return(Environment& env, const hir::Handler& handler) {
    if (plan::is_about(kind_, plan::Subject::Tracepoint))
        return saved_key(number(0));
    if (plan::is_trampoline(kind_))
        return saved_key(ir_.CreatePtrToInt(env.context, i64()));
    // The return has popped the return address, but not yet where the probe is at the return instruction.
    llvm::Value* place = user_register(env, rsp);
    if (handler.is_go)
        return goroutine_key(env, place);
    return saved_key(handler.at_return ? place : ir_.CreateSub(place, number(8)));
}

llvm::Value* BpfTarget::saved_key(llvm::Value* place, llvm::Value* owner) {
    llvm::Value* key = scratch("saved", 16);
    ir_.CreateStore(owner ? owner : helper(get_current_pid_tgid, {}), key);
    ir_.CreateStore(place, offset(key, 8));
    return key;
}

} // namespace sonde
