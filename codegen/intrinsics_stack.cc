// User stacks and symbols (codegen/rtlib/stack.bpf.c, symbol.bpf.c). A stack is unwound where a handler first asks for
// it, and kept for the rest of its run.
#include <cstddef>
#include <iterator>

#include "codegen/lower.h"
#include "runtime/symbols/stack.h"

namespace sonde {

namespace {
constexpr int rbp = 6, rsp = 7, rip = 16; // DWARF numbers
}

void Lowering::begin_user_stack() {
    env_.user_stack = new_bytes(sizeof(sonde_stack));
    auto set = [&](size_t field, llvm::Value* value) { b_.CreateStore(value, t_.offset(env_.user_stack, field)); };
    bool sample = handler_ && plan::is_sample(handler_->kind);
    bool there = handler_ && (plan::is_uprobe(handler_->kind) || sample);
    // What a sample interrupts may be the kernel, whose registers lead nowhere here.
    llvm::Value* user = sample ? b_.CreateNeg(t_.user_mode(env_)) : nullptr;
    auto value = [&](int number) {
        llvm::Value* held = there ? t_.user_register(env_, number) : t_.number(0);
        return sample ? b_.CreateAnd(held, user) : held;
    };
    set(offsetof(sonde_stack, rip), value(rip));
    set(offsetof(sonde_stack, rsp), value(rsp));
    set(offsetof(sonde_stack, rbp), value(rbp));
    set(offsetof(sonde_stack, state), t_.number(SONDE_STACK_FRESH));
    set(offsetof(sonde_stack, depth), t_.number(0));
}

void Lowering::unwind() {
    t_.need_tables(plan::UnwindTable);
    auto most = static_cast<int64_t>(t_.state().options.max_backtrace);
    t_.routine("sonde_once_unwind", b_.getInt32Ty(), {env_.user_stack, t_.number(most)});
}

// The n'th address, the innermost being the 0th; 0: there is none.
llvm::Value* Lowering::emit_stack_address(const hir::Intrinsic& expr) {
    llvm::Value* index = lower(*expr.args[0]);
    if (!in_kernel_)
        return t_.number(0);
    unwind();
    return t_.routine("sonde_rt_stack_at", t_.i64(), {env_.user_stack, index});
}

// As many addresses (-1: all) as text, from one on.
llvm::Value* Lowering::emit_stack_text(const hir::Intrinsic& expr) {
    llvm::Value* first = lower(*expr.args[0]);
    llvm::Value* count = lower(*expr.args[1]);
    if (!in_kernel_)
        return t_.literal("");
    unwind();
    llvm::Value* slot = new_slot();
    t_.routine("sonde_rt_stack_text", t_.i64(), {slot, env_.user_stack, first, count});
    return slot;
}

// A literal as a plan::StackStyle.
plan::Format Lowering::stack_format(plan::Directive::Kind kind, const hir::Expr& style) {
    plan::Directive directive;
    directive.kind = kind;
    directive.width = static_cast<int32_t>(t_.state().options.max_backtrace);
    if (style.kind == hir::ExprKind::ConstLong)
        directive.conversion = static_cast<char>(hir::as<hir::ConstLong>(style).value);
    else
        fail(style.range, "a stack's style must be a literal");
    return {{directive}};
}

llvm::Value* Lowering::emit_print_stack(const hir::Intrinsic& expr) {
    if (!in_kernel_)
        return t_.number(0);
    Mark mark(*this);
    unwind();
    auto field = [&](size_t at) { return b_.CreateLoad(t_.i64(), t_.offset(env_.user_stack, at)); };
    emit(plan::Print, t_.state().add_format(stack_format(plan::Directive::Stack, *expr.args[0])),
         {t_.task_number(env_, "pid"), field(offsetof(sonde_stack, state)), field(offsetof(sonde_stack, depth))},
         {{t_.offset(env_.user_stack, offsetof(sonde_stack, address)), 8 * t_.state().options.max_backtrace}});
    return t_.number(0);
}

// The same from other registers: rip, rsp, rbp. The handler's own stack is unwound anew when it is asked for again.
llvm::Value* Lowering::emit_print_stack_from(const hir::Intrinsic& expr) {
    Mark mark(*this);
    constexpr size_t fields[] = {offsetof(sonde_stack, rip), offsetof(sonde_stack, rsp), offsetof(sonde_stack, rbp)};
    std::vector<llvm::Value*> own, other;
    for (size_t i = 0; i < std::size(fields); i++)
        other.push_back(lower(*expr.args[i + 1]));
    if (!in_kernel_)
        return t_.number(0);
    auto place = [&](size_t field) { return t_.offset(env_.user_stack, field); };
    auto begin_with = [&](const std::vector<llvm::Value*>& registers) {
        for (size_t i = 0; i < registers.size(); i++)
            b_.CreateStore(registers[i], place(fields[i]));
        b_.CreateStore(t_.number(SONDE_STACK_FRESH), place(offsetof(sonde_stack, state)));
    };
    for (size_t field : fields)
        own.push_back(b_.CreateLoad(t_.i64(), place(field)));
    begin_with(other);
    emit_print_stack(expr);
    begin_with(own);
    return t_.number(0);
}

llvm::Value* Lowering::emit_print_addresses(const hir::Intrinsic& expr) {
    Mark mark(*this);
    t_.need_tables(plan::UnwindTable);
    llvm::Value* process = in_kernel_ ? t_.task_number(env_, "pid") : t_.number(0);
    emit(plan::Print, t_.state().add_format(stack_format(plan::Directive::Addresses, *expr.args[1])), {process},
         {{lower(*expr.args[0])}});
    return t_.number(0);
}

llvm::Value* Lowering::emit_symbol(const hir::Intrinsic& expr) {
    llvm::Value* slot = new_slot();
    Mark mark(*this);
    const hir::Expr& style = *expr.args[1];
    bool lines = style.kind != hir::ExprKind::ConstLong ||
                 (hir::as<hir::ConstLong>(style).value & SONDE_SYMBOL_STYLE) >= SONDE_SYMBOL_LINE;
    t_.need_tables(lines ? plan::LineTable : plan::SymbolTable);
    llvm::Value* address = lower(*expr.args[0]);
    t_.symbol(env_, slot, address, lower(style));
    return slot;
}

} // namespace sonde
