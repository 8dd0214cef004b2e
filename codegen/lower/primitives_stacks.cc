// Primitives for stacks and symbols (codegen/rtlib/stack.bpf.c, kernel_stack.bpf.c, symbol.bpf.c).
//
// A stack is unwound at its first use in a handler and kept until the handler ends, since unwinding takes microseconds.
// The handler's begin stores only the registers (begin_stacks()). A later use may be in a function or a loop, where the
// registers are no longer known.
//
// The registers depend on the kind of probe:
//
//     probe in user code           the program's registers at the hit
//     probe at a function's end    those of the caller, as after the return
//     sample (timer.profile)       those of the interrupted code, if it was in user space
//     system call, tracepoint      those saved when the thread entered the kernel
//     existing task                none: the runtime unwinds the stack (runtime/plan/thread_walk.h)
//
// The struct's fields are used for two purposes. Before unwinding, `sp` and others hold the start. After it, they hold
// the result (runtime/plan/stack.h, struct sonde_stacks).
//
// A stack that is printed goes into the record as addresses. The runtime turns them into names, because it can read
// files and handlers cannot.
#include <algorithm>
#include <cstddef>
#include <iterator>

#include "arch/architecture.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/print.h"
#include "codegen/lower/registers.h"
#include "codegen/lower/stacks.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/stack.h"
#include "runtime/plan/stack_copy.h"

namespace sonde {
namespace {

// Whether the script has a probe in kernel code.
bool probes_kernel(const Lowerer& l) {
    return std::any_of(l.e.state().program.handlers.begin(), l.e.state().program.handlers.end(),
                       [](const hir::Handler* handler) { return plan::traits(handler->kind).in_kernel_code; });
}

// The start of the handler's user stack. For a sample in user space it is FROM_REGISTERS, which is decided at the hit.
sonde_stack_origin user_stack_origin(const Lowerer& l) {
    if (!l.root || !plan::is_event(l.root->kind))
        return SONDE_FROM_NOWHERE;
    if (plan::is_about(l.root->kind, plan::Subject::ExistingTask))
        return SONDE_FROM_VISIT;
    switch (plan::traits(l.root->kind).user) {
    case plan::UserRegisters::Nowhere:
        return SONDE_FROM_NOWHERE;
    case plan::UserRegisters::Here:
        return SONDE_FROM_REGISTERS;
    case plan::UserRegisters::Gone:
        return SONDE_FROM_END;
    case plan::UserRegisters::Entry:
        break;
    }
    return SONDE_FROM_ENTRY;
}

enum class StackOf : uint8_t { User, Kernel, Python };
StackOf stack_of(const hir::Intrinsic& expr) {
    return expr.facts.of_kernel ? StackOf::Kernel : expr.facts.of_python ? StackOf::Python : StackOf::User;
}

// Replaces an interpreter's loop in the user stack by the functions that it executes. Most stacks have none, which
// costs only a comparison.
void merge_interpreted(Lowerer& l, int64_t most) {
    Emitter& e = l.e;
    const auto loops = [&](size_t word) {
        constexpr size_t bits = offsetof(sonde_stacks, walk) + offsetof(sonde_interpreter_walk, loops);
        return e.CreateLoad(e.i64(), e.offset(l.env.stacks, bits + word * sizeof(uint64_t)));
    };
    static_assert(sizeof(sonde_interpreter_walk::loops) == 2 * sizeof(uint64_t));
    llvm::BasicBlock *interpreted = e.block("interpreted"), *end = e.block("merged");
    e.CreateCondBr(e.CreateICmpNE(e.CreateOr(loops(0), loops(1)), e.number(0)), interpreted, end);
    e.SetInsertPoint(interpreted);
    for (const char* follow : {
#define LANGUAGE_RUNTIME(id, name, ...) "sonde_rt_follow_" #name,
#include "runtime/plan/language_runtimes.def"
#undef LANGUAGE_RUNTIME
         })
        e.routine(follow, e.getInt32Ty(), {l.env.stacks, e.number(most)});
    e.routine("sonde_rt_merge_interpreted", e.getInt32Ty(), {l.env.stacks, e.number(most)});
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

// Unwinds a stack. Returns a struct sonde_stack.
llvm::Value* unwind(Lowerer& l, StackOf whose) {
    Emitter& e = l.e;
    auto most = static_cast<int64_t>(e.state().translate.max_backtrace());
    if (whose != StackOf::Kernel) {
        e.state().need_tables(plan::UnwindTable);
        if (user_stack_origin(l) == SONDE_FROM_NOWHERE) { // programs for packets cannot even ask for the process
            e.CreateStore(e.number(SONDE_STACK_NO_PROCESS), e.offset(l.env.stacks, offsetof(sonde_stack, state)));
            return l.env.stacks;
        }
        if (whose == StackOf::Python) {
            e.routine("sonde_rt_find_python", e.getInt32Ty(), {l.env.stacks});
            e.routine("sonde_rt_python_stack", e.getInt32Ty(), {l.env.stacks, e.number(most)});
            return e.offset(l.env.stacks, offsetof(sonde_stacks, interpreted));
        }
        e.routine("sonde_rt_unwind", e.getInt32Ty(), {l.env.stacks, e.number(most)});
        merge_interpreted(l, most);
        return l.env.stacks;
    }
    if (!probes_kernel(l)) // a stack without frames, as it was initialized
        return e.offset(l.env.stacks, offsetof(sonde_stacks, kernel));
    e.state().need_tables(plan::KernelStacks);
    return e.routine("sonde_rt_kernel_stack", e.ptr(),
                     {l.env.context, e.offset(l.env.stacks, offsetof(sonde_stacks, kernel)), e.number(most),
                      e.CreateZExt(l.env.row, e.i64())});
}

// The same for primitives that return text or numbers. If the stack is missing or incomplete, no line of the output
// shows that, so it is counted.
llvm::Value* unwind_and_count(Lowerer& l, StackOf whose) {
    Emitter& e = l.e;
    llvm::Value* stack = unwind(l, whose);
    if (whose == StackOf::Kernel)
        return stack;
    llvm::Value* state = e.CreateLoad(e.i64(), e.offset(stack, offsetof(sonde_stack, state)));
    llvm::BasicBlock *none = e.block("nostack"), *end = e.block("stack");
    llvm::Value* why = e.CreateSub(state, e.number(SONDE_STACK_COUNTED));
    e.CreateCondBr(e.CreateICmpULT(why, e.number(SONDE_STACK_NO_PYTHON - SONDE_STACK_COUNTED)), none, end);
    e.SetInsertPoint(none);
    l.target.output().count_no_stack(stack);
    e.CreateBr(end);
    e.SetInsertPoint(end);
    return stack;
}

// Whether the handler is for recorded events, which have a stack if the recording's script has printed it.
bool is_recorded(const Lowerer& l) { return l.root && plan::traits(l.root->kind).cause == plan::Cause::Recorded; }

// A format for a stack, with a literal plan::StackStyle.
plan::Format stack_format(Lowerer& l, plan::Directive::Kind kind, const hir::Expr& style) {
    plan::Directive directive;
    directive.kind = kind;
    directive.width = static_cast<int32_t>(l.e.state().translate.max_backtrace());
    if (style.kind == hir::ExprKind::ConstLong)
        directive.conversion = static_cast<char>(hir::as<hir::ConstLong>(style).value);
    else
        l.fail(style.range, "a stack's style must be a literal");
    return {{directive}};
}

// For handlers that the session runs.
void print_no_stack(Lowerer& l, const hir::Expr& style) {
    Emitter& e = l.e;
    plan::Format format = stack_format(l, plan::Directive::Stack, style);
    const uint64_t bytes = 8ull * static_cast<unsigned>(format.directives[0].width);
    send_print(l, format, {e.number(0), e.number(SONDE_STACK_NO_PROCESS), e.number(0)}, {{e.zeros(bytes), bytes}});
}

void print_recorded_stack(Lowerer& l, StackOf whose, const hir::Expr& style) {
    Emitter& e = l.e;
    plan::Format format = stack_format(l, plan::Directive::Stack, style);
    const int32_t most = format.directives[0].width;
    constexpr uint64_t head_words = 3; // the process, the state and the depth
    llvm::Value* words = l.new_bytes(8 * (head_words + static_cast<uint64_t>(most)));
    e.routine("sonde_host_recorded_stack", e.i64(),
              {l.env.context, words, e.number(most), e.number(whose == StackOf::Kernel)});
    const auto word = [&](uint64_t index) { return e.CreateLoad(e.i64(), e.offset(words, 8 * index)); };
    send_print(l, format, {word(0), word(1), word(2)},
               {{e.offset(words, 8 * head_words), 8ull * static_cast<unsigned>(most)}});
}

} // namespace

void begin_stacks(Lowerer& l, bool at_entry) {
    Emitter& e = l.e;
    l.env.stacks = l.new_bytes(sizeof(sonde_stacks));
    auto set = [&](size_t field, llvm::Value* value) { e.CreateStore(value, e.offset(l.env.stacks, field)); };
    const sonde_stack_origin origin = user_stack_origin(l);
    const bool sample = l.handler && plan::is_sample(l.handler->kind);
    // A sample can interrupt the kernel.
    llvm::Value* user = sample ? e.CreateNeg(l.target.registers().user_mode(l.env)) : nullptr;
    // Before an instruction that leaves a function, the stack is already described as after the return: the innermost
    // frame is the caller's.
    const RegisterFile& registers = e.registers();
    auto value = [&](int number) {
        if (l.at_exit && number == registers.instruction_pointer)
            return return_address(l);
        if (l.at_exit && number == registers.stack_pointer)
            return callers_stack(l);
        if (origin != SONDE_FROM_REGISTERS && !sample)
            return number == registers.stack_pointer ? l.env.task : e.number(0);
        llvm::Value* held = l.target.registers().read(l.env, number);
        return sample ? e.CreateAnd(held, user) : held;
    };
    set(offsetof(sonde_stack, pc), value(registers.instruction_pointer));
    set(offsetof(sonde_stack, sp), value(registers.stack_pointer));
    set(offsetof(sonde_stack, fp), value(registers.frame_pointer));
    set(offsetof(sonde_stack, from), sample ? e.CreateAdd(user, e.number(SONDE_FROM_ENTRY)) : e.number(origin));
    set(offsetof(sonde_stack, state), e.number(SONDE_STACK_FRESH));
    set(offsetof(sonde_stack, depth), e.number(0));
    // For the kernel's stack, the fields have other meanings. `pc` is the probed function. `sp` is 0 if the kernel has
    // no stack of interest, the address of a trampoline's words plus 2, and otherwise 1. `fp` tells that the function
    // has returned. `from` is the caller's address if it is not on the stack yet (codegen/rtlib/kernel_stack.bpf.c).
    auto kernel = [&](size_t field, llvm::Value* value) { set(offsetof(sonde_stacks, kernel) + field, value); };
    const plan::KindTraits& kind = plan::traits(l.handler ? l.handler->kind : plan::ProbeKind::Begin);
    const bool function = kind.subject == plan::Subject::KernelFunction, at_return = kind.at_return && !at_entry;
    kernel(offsetof(sonde_stack, pc), function ? l.target.registers().kernel_function(l.env) : e.number(0));
    const bool trampoline = kind.context == plan::Context::Helpers;
    kernel(offsetof(sonde_stack, sp), trampoline ? e.CreateAdd(l.target.registers().argument_words(l.env), e.number(2))
                                                 : e.number(kind.in_kernel_code));
    kernel(offsetof(sonde_stack, fp), e.number(function && at_return));
    kernel(offsetof(sonde_stack, from),
           function && !at_return ? l.target.registers().kernel_caller(l.env) : e.number(0));
    kernel(offsetof(sonde_stack, state), e.number(SONDE_STACK_FRESH));
    kernel(offsetof(sonde_stack, depth), e.number(0));
    set(offsetof(sonde_stacks, interpreted) + offsetof(sonde_stack, state), e.number(SONDE_STACK_FRESH));
    set(offsetof(sonde_stacks, left), e.number(kind.subject == plan::Subject::UserCode && at_return));
}

llvm::Value* emit_kernel_stack_there(Lowerer& l, const hir::Intrinsic&) {
    Emitter& e = l.e;
    if (!e.in_kernel() || !probes_kernel(l))
        return e.number(0);
    return e.CreateLoad(e.i64(), e.offset(l.env.stacks, offsetof(sonde_stacks, kernel) + offsetof(sonde_stack, sp)));
}

llvm::Value* emit_user_stack_left(Lowerer& l, const hir::Intrinsic&) {
    Emitter& e = l.e;
    return e.in_kernel() ? e.CreateLoad(e.i64(), e.offset(l.env.stacks, offsetof(sonde_stacks, left))) : e.number(0);
}

// The n'th address, counted from the innermost one at 0. 0 if the stack is shorter.
llvm::Value* emit_stack_address(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* index = lower(l, *expr.args[0]);
    if (is_recorded(l))
        return e.routine("sonde_host_recorded_address", e.i64(),
                         {l.env.context, e.number(stack_of(expr) == StackOf::Kernel), index});
    if (!e.in_kernel())
        return e.number(0);
    return e.routine("sonde_rt_stack_at", e.i64(), {unwind_and_count(l, stack_of(expr)), index});
}

// `count` addresses as text (-1: all), beginning with the one at index `first`.
llvm::Value* emit_stack_text(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* first = lower(l, *expr.args[0]);
    llvm::Value* count = lower(l, *expr.args[1]);
    if (is_recorded(l)) {
        llvm::Value* text = l.new_slot();
        e.routine("sonde_host_recorded_addresses", e.getVoidTy(),
                  {l.env.context, text, e.number(static_cast<int64_t>(l.max_string())),
                   e.number(stack_of(expr) == StackOf::Kernel), first, count});
        return text;
    }
    if (!e.in_kernel())
        return e.literal("");
    llvm::Value* stack = unwind_and_count(l, stack_of(expr));
    llvm::Value* slot = l.new_slot();
    e.routine("sonde_rt_stack_text", e.i64(), {slot, stack, first, count});
    return slot;
}

llvm::Value* emit_shared_stack(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* first = lower(l, *expr.args[0]);
    llvm::Value* count = lower(l, *expr.args[1]);
    llvm::Value* stacks = unwind_and_count(l, StackOf::User);
    e.zeros(l.max_string());
    return e.routine("sonde_rt_shared_stack", e.ptr(), {l.new_slot(), stacks, first, count});
}

llvm::Value* emit_print_stack(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    if (is_recorded(l)) {
        print_recorded_stack(l, stack_of(expr), *expr.args[0]);
        return e.number(0);
    }
    if (!e.in_kernel()) {
        if (!expr.facts.of_kernel)
            print_no_stack(l, *expr.args[0]);
        return e.number(0);
    }
    const plan::Format format = stack_format(l, plan::Directive::Stack, *expr.args[0]);
    llvm::Value* stack = unwind(l, stack_of(expr));
    if (format.directives[0].conversion == plan::StackWithValues)
        e.routine("sonde_rt_copy_stack", e.getInt32Ty(), {l.env.stacks});
    auto field = [&](size_t at) { return e.CreateLoad(e.i64(), e.offset(stack, at)); };
    send_print(l, format,
               {l.target.task().number(l.env, hir::TaskNumber::KernelPid), field(offsetof(sonde_stack, state)),
                field(offsetof(sonde_stack, depth))},
               {{e.offset(stack, offsetof(sonde_stack, address)), 8 * e.state().translate.max_backtrace()}});
    return e.number(0);
}

// The same from other registers (pc, sp, fp). The handler's own stack is unwound again at its next use.
llvm::Value* emit_print_stack_from(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    constexpr size_t fields[] = {offsetof(sonde_stack, pc), offsetof(sonde_stack, sp), offsetof(sonde_stack, fp),
                                 offsetof(sonde_stack, from)};
    std::vector<llvm::Value*> own, other;
    for (size_t i = 1; i < expr.args.size(); i++)
        other.push_back(lower(l, *expr.args[i]));
    other.push_back(e.number(SONDE_FROM_REGISTERS));
    if (!e.in_kernel()) {
        print_no_stack(l, *expr.args[0]);
        return e.number(0);
    }
    auto place = [&](size_t field) { return e.offset(l.env.stacks, field); };
    auto begin_with = [&](const std::vector<llvm::Value*>& registers) {
        for (size_t i = 0; i < registers.size(); i++)
            e.CreateStore(registers[i], place(fields[i]));
        e.CreateStore(e.number(SONDE_STACK_FRESH), place(offsetof(sonde_stack, state)));
    };
    for (size_t field : fields)
        own.push_back(e.CreateLoad(e.i64(), place(field)));
    begin_with(other);
    emit_print_stack(l, expr);
    begin_with(own);
    return e.number(0);
}

llvm::Value* emit_print_addresses(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    e.state().need_tables(plan::UnwindTable | plan::KernelStacks);
    llvm::Value* process = e.in_kernel() ? l.target.task().number(l.env, hir::TaskNumber::KernelPid) : e.number(0);
    send_print(l, stack_format(l, plan::Directive::Addresses, *expr.args[1]), {process}, {{lower(l, *expr.args[0])}});
    return e.number(0);
}

llvm::Value* emit_symbol(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    Mark mark(l);
    llvm::Value* work = l.new_bytes(SONDE_SYMBOL_BYTES);
    const hir::Expr& style = *expr.args[1];
    const int64_t known =
        style.kind == hir::ExprKind::ConstLong ? hir::as<hir::ConstLong>(style).value & SONDE_SYMBOL_STYLE : -1;
    bool lines = known < 0 || (known >= SONDE_SYMBOL_LINE && known <= SONDE_SYMBOL_FILELINE);
    // If all probes are in the kernel, only functions for user addresses look up user symbols.
    const auto& handlers = e.state().program.handlers;
    const bool user = expr.facts.of_user || std::any_of(handlers.begin(), handlers.end(), [](const auto* handler) {
                          return handler->in_kernel && !plan::traits(handler->kind).in_kernel_code;
                      });
    const bool kernel = e.in_kernel() && !expr.facts.of_user && probes_kernel(l);
    if (user && lines)
        e.state().need_tables(plan::LineTable);
    if (user && (!lines || style.kind != hir::ExprKind::ConstLong))
        e.state().need_tables(plan::SymbolTable);
    if (kernel)
        e.state().need_tables(plan::KernelNames | plan::KernelStacks);
    else if (!e.in_kernel())
        e.state().need_tables(plan::KernelStacks);
    llvm::Value* address = lower(l, *expr.args[0]);
    llvm::Value* wanted = lower(l, style);
    if (!kernel) {
        l.target.memory().symbol(l.env, slot, address, wanted, work);
        return slot;
    }
    llvm::BasicBlock *of_kernel = e.block("kernel"), *of_user = e.block("user"), *end = e.block("symbol");
    e.CreateCondBr(e.CreateICmpSLT(address, e.number(0)), of_kernel, of_user);
    e.SetInsertPoint(of_kernel);
    l.target.memory().kernel_symbol(l.env, slot, address, wanted, work);
    e.CreateBr(end);
    e.SetInsertPoint(of_user);
    l.target.memory().symbol(l.env, slot, address, wanted, work);
    e.CreateBr(end);
    e.SetInsertPoint(end);
    return slot;
}

// The functions inlined at an address. User stacks are known only in programs at their probes.
llvm::Value* emit_inlined(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    Mark mark(l);
    llvm::Value* address = lower(l, *expr.args[0]);
    if (!e.in_kernel())
        return e.literal("");
    e.state().need_tables(SONDE_INLINE_TABLE);
    e.routine("sonde_rt_inlined", e.i64(), {slot, address, l.new_bytes(SONDE_SYMBOL_BYTES)});
    return slot;
}

} // namespace sonde
