// Reads registers and arguments from the program's context.
//
// The context's form depends on the kind of program (plan::Context):
//
//     Registers   a struct pt_regs: uprobes, kprobes
//     Saved       a pointer to a struct pt_regs in kernel memory: system calls
//     Sampled     a struct pt_regs in the context of a perf event: timers, counters
//     Words       the arguments as 64-bit words: raw tracepoints
//     Helpers     the arguments, through helpers: trampolines (fentry, fexit)
//     Memory      the arguments, as kernel memory: packets, security hooks, iterators
//     None        no registers
//
// The verifier allows loads from the context only at constant offsets from the context itself. context_word() therefore
// emits each load as one piece of assembly.
//
// DWARF numbers the registers in another order than struct pt_regs stores them. RegisterFile::offset() translates.
#include <iterator>

#include <llvm/IR/InlineAsm.h>

#include "arch/architecture.h"
#include "base/check.h"
#include "codegen/bpf/parts.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

static_assert(hir::Register::syscall_number == syscall_number_register);

} // namespace

llvm::Value* whole_register(Emitter& e, int number, llvm::Value* word) {
    const unsigned bits = 8 * e.registers().size(number);
    return bits == 64 ? word : e.CreateSExt(e.CreateTrunc(word, e.getIntNTy(bits)), e.i64());
}

llvm::Value* BpfRegisters::read(Environment& env, int number) {
    if (number == hir::Register::thread_pointer)
        return e_.routine("sonde_rt_thread_pointer", e_.i64(), {});
    const int64_t at = e_.registers().offset(number);
    if (plan::traits(bpf_.kind).context == plan::Context::Saved) {
        llvm::Value* value = e_.scratch("register", 8);
        llvm::Value* saved = bpf_.at_syscall_event ? syscall_word(env, 0) : context_word(e_, env.context, 0);
        helper(e_, probe_read_kernel, {value, e_.number(8), e_.CreateAdd(saved, e_.number(at))});
        return whole_register(e_, number, e_.CreateLoad(e_.i64(), value));
    }
    return whole_register(e_, number, context_word(e_, env.context, static_cast<uint64_t>(at)));
}

// A store to the context itself, at a constant offset (see context_word()).
void BpfRegisters::write(Environment& env, int number, llvm::Value* value) {
    auto* type = llvm::FunctionType::get(e_.getVoidTy(), {env.context->getType(), e_.i64(), e_.i64()}, false);
    auto* store = llvm::InlineAsm::get(type, "*(u64 *)($0 + $1) = $2", "r,i,r,~{memory}", true);
    e_.CreateCall(type, store, {env.context, e_.number(e_.registers().offset(number)), value});
    bpf_.writes_registers = true;
}

llvm::Value* BpfRegisters::argument(Environment& env, int number) {
    // The last arguments are on the stack, above the return address.
    const RegisterFile& file = e_.registers();
    const std::span<const int> registers = file.arguments;
    bool result = number == hir::Argument::result;
    if (number == hir::Argument::call_registers) {
        if (env.call_registers)
            return env.call_registers;
        number = 0;
    }
    switch (plan::traits(bpf_.kind).context) {
    case plan::Context::Words:
        if (bpf_.at_syscall_event)
            return syscall_word(env, number);
        return context_word(e_, env.context, 8ull * static_cast<unsigned>(number));
    case plan::Context::Memory: {
        // Read through a helper, for the same reason as below. These programs have no helper for arguments.
        llvm::Value* value = e_.scratch("argument", 8);
        helper(e_, probe_read_kernel,
               {value, e_.number(8), e_.offset(env.context, 8ull * static_cast<unsigned>(number))});
        return e_.CreateLoad(e_.i64(), value);
    }
    case plan::Context::Helpers: {
        // Read by helpers, which the kernel inlines. Loads from the context would give typed pointers, with which a
        // script could not compute.
        llvm::Value* value = e_.scratch("argument", 8);
        e_.CreateStore(e_.number(0), value);
        if (result)
            helper(e_, get_func_ret, {env.context, value});
        else
            helper(e_, get_func_arg, {env.context, e_.getInt32(static_cast<uint32_t>(number)), value});
        return e_.CreateLoad(e_.i64(), value);
    }
    case plan::Context::None:
    case plan::Context::Registers:
    case plan::Context::Saved:
    case plan::Context::Sampled:
        break;
    }
    if (result)
        return read(env, file.result());
    if (static_cast<size_t>(number) < registers.size())
        return read(env, registers[static_cast<size_t>(number)]);
    llvm::Value* value = e_.scratch("argument", 8);
    const int64_t above = file.call.pushed + 8 * (number - static_cast<int>(registers.size()));
    helper(e_, probe_read_kernel, {value, e_.number(8), e_.CreateAdd(read(env, file.stack_pointer), e_.number(above))});
    return e_.CreateLoad(e_.i64(), value);
}

// Returns what the raw tracepoint has as arguments: the registers, and the call's number or result. The perf event has
// the number after the common fields, and then, at the exit, the result (events/raw_syscalls/sys_exit/format).
llvm::Value* BpfRegisters::syscall_word(Environment& env, int number) {
    if (number == 0) {
        // The verifier treats the result as a pointer and forbids arithmetic. A double negation turns it into a number.
        auto* type = llvm::FunctionType::get(e_.i64(), {e_.i64()}, false);
        llvm::Value* pointer = helper(e_, task_pt_regs, {helper_pointer(e_, get_current_task_btf, {})});
        return e_.CreateCall(type, llvm::InlineAsm::get(type, "$0 = -$0\n\t$0 = -$0", "=r,0", false), {pointer});
    }
    const plan::Probe& probe = bpf_.state.plan.probes[bpf_.probe];
    return context_word(e_, env.context, bpf_.saves_entry || probe.points[0].symbol == "sys_enter" ? 8 : 16);
}

llvm::Value* BpfRegisters::numbered_argument(Environment& env, llvm::Value* number, llvm::Value*& fault) {
    llvm::Value* value = e_.scratch("argument", 8);
    e_.CreateStore(e_.number(0), value);
    fault = helper(e_, get_func_arg, {env.context, e_.CreateTrunc(number, e_.getInt32Ty()), value});
    return e_.CreateLoad(e_.i64(), value);
}

llvm::Value* BpfRegisters::argument_words(Environment& env) { return helper(e_, get_func_arg_cnt, {env.context}); }

llvm::Value* BpfRegisters::kernel_function(Environment& env) {
    llvm::Value* function =
        helper(e_, get_func_ip, {env.context}); // 0 for a breakpoint that is not at a function's entry
    if (!plan::is_kernel_breakpoint(bpf_.kind) || plan::traits(bpf_.kind).at_return)
        return function;
    llvm::Value* behind_breakpoint = read(env, e_.registers().instruction_pointer);
    return e_.CreateSelect(e_.CreateICmpNE(function, e_.number(0)), function,
                           e_.CreateSub(behind_breakpoint, e_.number(e_.registers().behind_breakpoint)));
}

llvm::Value* BpfRegisters::kernel_caller(Environment& env) {
    const int link = e_.registers().call.return_register;
    const bool at_return = plan::traits(bpf_.kind).at_return && !bpf_.saves_entry;
    if (link < 0 || at_return || !plan::is_kernel_breakpoint(bpf_.kind))
        return e_.number(0);
    // Not signed yet: a function that signs its return address does so after its first instruction.
    llvm::Value* is_entry = e_.CreateICmpNE(helper(e_, get_func_ip, {env.context}), e_.number(0));
    return e_.CreateSelect(is_entry, read(env, link), e_.number(0));
}

llvm::Value* BpfRegisters::user_mode(Environment& env) {
    if (!plan::is_sample(bpf_.kind))
        return e_.number(plan::is_uprobe(bpf_.kind));
    const RegisterTest& test = e_.registers().in_user_mode;
    llvm::Value* interrupted = context_word(e_, env.context, e_.registers().offset(test.number));
    return e_.CreateZExt(holds(e_, test, interrupted), e_.i64());
}

llvm::Value* BpfRegisters::user_address(Environment& env) {
    return plan::is_about_no_task(bpf_.kind) ? e_.number(0) : e_.routine("sonde_rt_user_address", e_.i64(), {env.task});
}

} // namespace sonde
