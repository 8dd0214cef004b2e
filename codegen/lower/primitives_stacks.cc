// Stacks and symbols (codegen/rtlib/stack.bpf.c, kernel_stack.bpf.c, symbol.bpf.c). A stack is unwound where a handler
// first asks for it, and kept for the rest of its run.
#include <algorithm>
#include <cstddef>
#include <iterator>

#include "codegen/lower/lower.h"
#include "runtime/symbols/stack.h"

namespace sonde {

namespace {
constexpr int rbp = 6, rsp = 7, rip = 16; // DWARF numbers
}

// Whether some handler of the script is hit in the kernel.
bool Lowering::probes_kernel() const {
    return std::any_of(e_.state().program.handlers.begin(), e_.state().program.handlers.end(),
                       [](const hir::Handler* handler) { return plan::traits(handler->kind).in_kernel_code; });
}

// Where the handler's user stack begins; a sample's in user space is FROM_REGISTERS, which only its hit tells.
sonde_stack_origin Lowering::user_stack_origin() const {
    if (!root_ || !plan::is_event(root_->kind))
        return SONDE_FROM_NOWHERE;
    switch (plan::traits(root_->kind).user) {
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

void Lowering::begin_stacks() {
    env_.stacks = new_bytes(sizeof(sonde_stacks));
    auto set = [&](size_t field, llvm::Value* value) { e_.CreateStore(value, e_.offset(env_.stacks, field)); };
    const sonde_stack_origin origin = user_stack_origin();
    const bool sample = handler_ && plan::is_sample(handler_->kind);
    // What a sample interrupts may be the kernel.
    llvm::Value* user = sample ? e_.CreateNeg(t_.registers().user_mode(env_)) : nullptr;
    auto value = [&](int number) {
        if (origin != SONDE_FROM_REGISTERS && !sample)
            return number == rsp ? env_.task : e_.number(0);
        llvm::Value* held = t_.registers().read(env_, number);
        return sample ? e_.CreateAnd(held, user) : held;
    };
    set(offsetof(sonde_stack, rip), value(rip));
    set(offsetof(sonde_stack, rsp), value(rsp));
    set(offsetof(sonde_stack, rbp), value(rbp));
    set(offsetof(sonde_stack, from), sample ? e_.CreateAdd(user, e_.number(SONDE_FROM_ENTRY)) : e_.number(origin));
    set(offsetof(sonde_stack, state), e_.number(SONDE_STACK_FRESH));
    set(offsetof(sonde_stack, depth), e_.number(0));
    auto kernel = [&](size_t field, llvm::Value* value) { set(offsetof(sonde_stacks, kernel) + field, value); };
    const plan::KindTraits& kind = plan::traits(handler_ ? handler_->kind : plan::ProbeKind::Begin);
    const bool function = kind.subject == plan::Subject::KernelFunction;
    kernel(offsetof(sonde_stack, rip), function ? t_.registers().kernel_function(env_) : e_.number(0));
    const bool trampoline = kind.context == plan::Context::Helpers;
    kernel(offsetof(sonde_stack, rsp), trampoline ? e_.CreateAdd(t_.registers().argument_words(env_), e_.number(2))
                                                  : e_.number(kind.in_kernel_code));
    kernel(offsetof(sonde_stack, rbp), e_.number(function && kind.at_return));
    kernel(offsetof(sonde_stack, state), e_.number(SONDE_STACK_FRESH));
    kernel(offsetof(sonde_stack, depth), e_.number(0));
    set(offsetof(sonde_stacks, left),
        e_.number(kind.subject == plan::Subject::UserCode && kind.at_return && !handler_->at_return));
}

// The kernel's stack or the user's, unwound: a struct sonde_stack.
llvm::Value* Lowering::unwind(bool of_kernel) {
    auto most = static_cast<int64_t>(e_.state().options.max_backtrace);
    if (!of_kernel) {
        e_.state().need_tables(plan::UnwindTable);
        if (user_stack_origin() == SONDE_FROM_NOWHERE) { // a packet's program may not even ask
            e_.CreateStore(e_.number(SONDE_STACK_NO_PROCESS), e_.offset(env_.stacks, offsetof(sonde_stack, state)));
            return env_.stacks;
        }
        e_.routine("sonde_rt_unwind", e_.getInt32Ty(), {env_.stacks, e_.number(most)});
        return env_.stacks;
    }
    if (!probes_kernel()) // it is empty, and so is what it begins as
        return e_.offset(env_.stacks, offsetof(sonde_stacks, kernel));
    e_.state().need_tables(plan::KernelStacks);
    return e_.routine("sonde_rt_kernel_stack", e_.ptr(),
                      {env_.context, e_.offset(env_.stacks, offsetof(sonde_stacks, kernel)), e_.number(most),
                       e_.CreateZExt(env_.row, e_.i64())});
}

// The same for what gives text or numbers, where a stack that is not there leaves no line in the output.
llvm::Value* Lowering::unwind_and_count(bool of_kernel) {
    llvm::Value* stack = unwind(of_kernel);
    if (stack != env_.stacks)
        return stack;
    llvm::Value* state = e_.CreateLoad(e_.i64(), e_.offset(stack, offsetof(sonde_stack, state)));
    llvm::BasicBlock *none = e_.block("nostack"), *end = e_.block("stack");
    e_.CreateCondBr(e_.CreateICmpUGE(state, e_.number(SONDE_STACK_NONE)), none, end);
    e_.SetInsertPoint(none);
    t_.output().count_no_stack(stack);
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
    return stack;
}

llvm::Value* Lowering::emit_kernel_stack_there(const hir::Intrinsic&) {
    if (!e_.in_kernel() || !probes_kernel())
        return e_.number(0);
    return e_.CreateLoad(e_.i64(), e_.offset(env_.stacks, offsetof(sonde_stacks, kernel) + offsetof(sonde_stack, rsp)));
}

llvm::Value* Lowering::emit_user_stack_left(const hir::Intrinsic&) {
    return e_.in_kernel() ? e_.CreateLoad(e_.i64(), e_.offset(env_.stacks, offsetof(sonde_stacks, left)))
                          : e_.number(0);
}

// The n'th address, the innermost being the 0th; 0: there is none.
llvm::Value* Lowering::emit_stack_address(const hir::Intrinsic& expr) {
    llvm::Value* index = lower(*expr.args[0]);
    if (!e_.in_kernel())
        return e_.number(0);
    return e_.routine("sonde_rt_stack_at", e_.i64(), {unwind_and_count(expr.facts.of_kernel), index});
}

// As many addresses (-1: all) as text, from one on.
llvm::Value* Lowering::emit_stack_text(const hir::Intrinsic& expr) {
    llvm::Value* first = lower(*expr.args[0]);
    llvm::Value* count = lower(*expr.args[1]);
    if (!e_.in_kernel())
        return e_.literal("");
    llvm::Value* stack = unwind_and_count(expr.facts.of_kernel);
    llvm::Value* slot = new_slot();
    e_.routine("sonde_rt_stack_text", e_.i64(), {slot, stack, first, count});
    return slot;
}

// A literal as a plan::StackStyle.
plan::Format Lowering::stack_format(plan::Directive::Kind kind, const hir::Expr& style) {
    plan::Directive directive;
    directive.kind = kind;
    directive.width = static_cast<int32_t>(e_.state().options.max_backtrace);
    if (style.kind == hir::ExprKind::ConstLong)
        directive.conversion = static_cast<char>(hir::as<hir::ConstLong>(style).value);
    else
        fail(style.range, "a stack's style must be a literal");
    return {{directive}};
}

// Where the session runs the handler itself.
void Lowering::print_no_stack(const hir::Expr& style) {
    plan::Format format = stack_format(plan::Directive::Stack, style);
    const uint64_t bytes = 8ull * static_cast<unsigned>(format.directives[0].width);
    emit(plan::Print, e_.state().add_format(format), {e_.number(0), e_.number(SONDE_STACK_NO_PROCESS), e_.number(0)},
         {{e_.zeros(bytes), bytes}});
}

llvm::Value* Lowering::emit_print_stack(const hir::Intrinsic& expr) {
    Mark mark(*this);
    if (!e_.in_kernel()) {
        if (!expr.facts.of_kernel)
            print_no_stack(*expr.args[0]);
        return e_.number(0);
    }
    llvm::Value* stack = unwind(expr.facts.of_kernel);
    auto field = [&](size_t at) { return e_.CreateLoad(e_.i64(), e_.offset(stack, at)); };
    emit(plan::Print, e_.state().add_format(stack_format(plan::Directive::Stack, *expr.args[0])),
         {t_.task().number(env_, "kernel_pid"), field(offsetof(sonde_stack, state)),
          field(offsetof(sonde_stack, depth))},
         {{e_.offset(stack, offsetof(sonde_stack, address)), 8 * e_.state().options.max_backtrace}});
    return e_.number(0);
}

// The same from other registers: rip, rsp, rbp. The handler's own stack is unwound anew when it is asked for again.
llvm::Value* Lowering::emit_print_stack_from(const hir::Intrinsic& expr) {
    Mark mark(*this);
    constexpr size_t fields[] = {offsetof(sonde_stack, rip), offsetof(sonde_stack, rsp), offsetof(sonde_stack, rbp),
                                 offsetof(sonde_stack, from)};
    std::vector<llvm::Value*> own, other;
    for (size_t i = 1; i < expr.args.size(); i++)
        other.push_back(lower(*expr.args[i]));
    other.push_back(e_.number(SONDE_FROM_REGISTERS));
    if (!e_.in_kernel()) {
        print_no_stack(*expr.args[0]);
        return e_.number(0);
    }
    auto place = [&](size_t field) { return e_.offset(env_.stacks, field); };
    auto begin_with = [&](const std::vector<llvm::Value*>& registers) {
        for (size_t i = 0; i < registers.size(); i++)
            e_.CreateStore(registers[i], place(fields[i]));
        e_.CreateStore(e_.number(SONDE_STACK_FRESH), place(offsetof(sonde_stack, state)));
    };
    for (size_t field : fields)
        own.push_back(e_.CreateLoad(e_.i64(), place(field)));
    begin_with(other);
    emit_print_stack(expr);
    begin_with(own);
    return e_.number(0);
}

llvm::Value* Lowering::emit_print_addresses(const hir::Intrinsic& expr) {
    Mark mark(*this);
    e_.state().need_tables(plan::UnwindTable | plan::KernelStacks);
    llvm::Value* process = e_.in_kernel() ? t_.task().number(env_, "kernel_pid") : e_.number(0);
    emit(plan::Print, e_.state().add_format(stack_format(plan::Directive::Addresses, *expr.args[1])), {process},
         {{lower(*expr.args[0])}});
    return e_.number(0);
}

llvm::Value* Lowering::emit_symbol(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    Mark mark(*this);
    llvm::Value* work = new_bytes(SONDE_SYMBOL_BYTES);
    const hir::Expr& style = *expr.args[1];
    const int64_t known =
        style.kind == hir::ExprKind::ConstLong ? hir::as<hir::ConstLong>(style).value & SONDE_SYMBOL_STYLE : -1;
    bool lines = known < 0 || (known >= SONDE_SYMBOL_LINE && known <= SONDE_SYMBOL_FILELINE);
    // A script whose probes are all in the kernel asks it about user addresses only by the functions for these.
    const auto& handlers = e_.state().program.handlers;
    const bool user = expr.facts.of_user || std::any_of(handlers.begin(), handlers.end(), [](const auto* handler) {
                          return handler->in_kernel && !plan::traits(handler->kind).in_kernel_code;
                      });
    const bool kernel = e_.in_kernel() && !expr.facts.of_user && probes_kernel();
    if (user && lines)
        e_.state().need_tables(plan::LineTable);
    if (user && (!lines || style.kind != hir::ExprKind::ConstLong))
        e_.state().need_tables(plan::SymbolTable);
    if (kernel)
        e_.state().need_tables(plan::KernelNames | plan::KernelStacks);
    else if (!e_.in_kernel())
        e_.state().need_tables(plan::KernelStacks);
    llvm::Value* address = lower(*expr.args[0]);
    llvm::Value* wanted = lower(style);
    if (!kernel) {
        t_.memory().symbol(env_, slot, address, wanted, work);
        return slot;
    }
    llvm::BasicBlock *of_kernel = e_.block("kernel"), *of_user = e_.block("user"), *end = e_.block("symbol");
    e_.CreateCondBr(e_.CreateICmpSLT(address, e_.number(0)), of_kernel, of_user);
    e_.SetInsertPoint(of_kernel);
    t_.memory().kernel_symbol(env_, slot, address, wanted, work);
    e_.CreateBr(end);
    e_.SetInsertPoint(of_user);
    t_.memory().symbol(env_, slot, address, wanted, work);
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
    return slot;
}

// The functions that are inlined at an address. Stacks of programs are not known elsewhere than at their probes.
llvm::Value* Lowering::emit_inlined(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    Mark mark(*this);
    llvm::Value* address = lower(*expr.args[0]);
    if (!e_.in_kernel())
        return e_.literal("");
    e_.state().need_tables(SONDE_INLINE_TABLE);
    e_.routine("sonde_rt_inlined", e_.i64(), {slot, address, new_bytes(SONDE_SYMBOL_BYTES)});
    return slot;
}

} // namespace sonde
