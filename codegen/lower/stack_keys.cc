// User stacks as array keys. A stack is the same key in all processes that run the same code (see
// codegen/emit/shared_stacks.h).
//
// This is possible only for the stack of the hit, whose files and offsets are known: `n[ubacktrace()]`, and a variable
// that never holds anything else. All other texts are used as they are. A foreach over the array returns the text under
// which the element is stored, so that the script can find the element again.
#include "codegen/lower/stack_keys.h"

#include <algorithm>

#include "codegen/emit/shared_stacks.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/stacks.h"
#include "frontend/hir/walk.h"

namespace sonde {
namespace {

// Whether the expression is a stack, or nothing ("") under some condition.
bool is_stack_or_nothing(const hir::Expr& expr) {
    if (expr.kind != hir::ExprKind::Ternary)
        return user_stack_in(expr) ||
               (expr.kind == hir::ExprKind::ConstString && hir::as<hir::ConstString>(expr).value.empty());
    const auto& ternary = hir::as<hir::Ternary>(expr);
    return is_stack_or_nothing(*ternary.then_value) && is_stack_or_nothing(*ternary.else_value);
}

// The stack in the expression, or null.
const hir::Expr* stack_part(const hir::Expr& expr) {
    if (expr.kind != hir::ExprKind::Ternary)
        return user_stack_in(expr) ? &expr : nullptr;
    const hir::Expr* yes = stack_part(*hir::as<hir::Ternary>(expr).then_value);
    return yes ? yes : stack_part(*hir::as<hir::Ternary>(expr).else_value);
}

// Lowers the primitive that returns the stack. If a function returns it, the call's arguments are stored as the
// function's parameters.
llvm::Value* lower_stack(Lowerer& l, const hir::Expr& expr) {
    if (expr.kind == hir::ExprKind::Call) {
        const auto& call = hir::as<hir::Call>(expr);
        for (size_t i = 0; i < call.args.size(); i++) {
            llvm::Value* variable = l.new_variable(8);
            l.e.CreateStore(lower(l, *call.args[i]), variable);
            l.locals[call.callee->params[i]] = variable;
        }
    }
    return emit_shared_stack(l, *user_stack_in(expr));
}

// The blocks for a text with two alternatives.
struct Branches {
    llvm::BasicBlock *yes, *no, *end;
};
Branches branch(Emitter& e, llvm::Value* condition) {
    Branches out{e.block("stackkey"), e.block("nostackkey"), e.block("endstackkey")};
    e.CreateCondBr(condition, out.yes, out.no);
    return out;
}
template <typename Yes, typename No>
llvm::Value* choose(Emitter& e, llvm::Value* condition, const Yes& yes, const No& no) {
    const Branches at = branch(e, condition);
    e.SetInsertPoint(at.yes);
    llvm::Value* one = yes();
    llvm::BasicBlock* one_end = e.GetInsertBlock();
    e.CreateBr(at.end);
    e.SetInsertPoint(at.no);
    llvm::Value* other = no();
    llvm::BasicBlock* other_end = e.GetInsertBlock();
    e.CreateBr(at.end);
    e.SetInsertPoint(at.end);
    llvm::PHINode* out = e.CreatePHI(e.ptr(), 2);
    out->addIncoming(one, one_end);
    out->addIncoming(other, other_end);
    return out;
}

// The only value that the variable holds besides ""; null if there are several. In `s = ubacktrace(); n[s]++`, the key
// can be the stack of the hit, because `s` is assigned once. With a second `s = "none"`, it cannot.
const hir::Expr* only_value(const Lowerer& l, const hir::Local& local) {
    const hir::Stmt* body = l.function ? l.function->body : l.handler ? l.handler->body : nullptr;
    if (!body || (l.function && std::ranges::find(l.function->params, &local) != l.function->params.end()))
        return nullptr;
    const hir::Expr* found = nullptr;
    bool always = true;
    for_each_expr(*body, [&](const hir::Expr& expr) {
        if (expr.kind != hir::ExprKind::Assign || variable_of(*hir::as<hir::Assign>(expr).target) != &local)
            return;
        const auto& assign = hir::as<hir::Assign>(expr);
        always = always && !found && !assign.op && !assign.concat;
        found = assign.value;
    });
    for_each_stmt(*body, [&](const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Try)
            always = always && hir::as<hir::Try>(stmt).message != &local;
        if (stmt.kind != hir::StmtKind::Foreach)
            return;
        const auto& loop = hir::as<hir::Foreach>(stmt);
        always = always && loop.value != &local && std::ranges::find(loop.keys, &local) == loop.keys.end();
    });
    if (!always || !found || !is_stack_or_nothing(*found))
        return nullptr;
    // A call's arguments may have changed since the assignment, and two stacks are two values.
    size_t stacks = 0, arguments = 0;
    for_each_expr(*found, [&](const hir::Expr& expr) {
        stacks += user_stack_in(expr) != nullptr;
        arguments += expr.kind == hir::ExprKind::Call ? hir::as<hir::Call>(expr).args.size() : 0;
    });
    return stacks == 1 && arguments == 0 ? found : nullptr;
}

} // namespace

llvm::Value* shared_value(Lowerer& l, const hir::Expr& expr) {
    if (user_stack_in(expr))
        return lower_stack(l, expr);
    if (expr.kind != hir::ExprKind::Ternary)
        return lower(l, expr);
    const auto& ternary = hir::as<hir::Ternary>(expr);
    return choose(
        l.e, truth(l, *ternary.condition), [&] { return shared_value(l, *ternary.then_value); },
        [&] { return shared_value(l, *ternary.else_value); });
}

llvm::Value* shared_key(Lowerer& l, const plan::Global& array, size_t component, const hir::Expr& expr) {
    Emitter& e = l.e;
    if (!e.in_kernel() || !is_shared(array, component))
        return nullptr;
    llvm::Value* nothing = e.zeros(l.max_string());
    if (user_stack_in(expr))
        return lower_stack(l, expr);
    if (expr.kind == hir::ExprKind::ConstString && hir::as<hir::ConstString>(expr).value.empty())
        return nothing;
    if (expr.kind == hir::ExprKind::Ternary && is_stack_or_nothing(expr)) {
        const auto& ternary = hir::as<hir::Ternary>(expr);
        return choose(
            e, truth(l, *ternary.condition), [&] { return shared_key(l, array, component, *ternary.then_value); },
            [&] { return shared_key(l, array, component, *ternary.else_value); });
    }
    if (expr.kind != hir::ExprKind::LocalRef)
        return nullptr;
    const hir::Local* local = hir::as<hir::LocalRef>(expr).local;
    const hir::Expr* value = e.state().holders_of_shared.contains(local) ? nullptr : only_value(l, *local);
    const hir::Expr* stack = value ? stack_part(*value) : nullptr;
    if (!stack)
        return nullptr;
    // "" means that it is not assigned yet.
    llvm::Value* first = e.CreateLoad(e.getInt8Ty(), lower(l, expr));
    return choose(
        e, e.CreateICmpNE(first, e.getInt8(0)), [&] { return lower_stack(l, *stack); }, [&] { return nothing; });
}

} // namespace sonde
