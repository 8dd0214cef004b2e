// Finds the uses of the probe point in a body and in the functions that it calls. The result decides how often a
// handler is built, and where its probe is placed:
//
//     { calls++ }                    nothing: one handler for all points of the probe
//     { println($x) }                `point`, and $x in `targets`: built for each point
//     { println(&$x) }               `address`: $x must be in memory, so the probe stays after the prologue
//     { helper() }                   the uses in helper(), which may read $x itself
#include "frontend/sema/point_uses.h"

#include <set>
#include <utility>

#include "frontend/ast/walk.h"
#include "frontend/hir/primitives.h"
#include "frontend/sema/c_text.h"

namespace sonde {

namespace {
// Whether the expression writes to a variable of the program: `$x = 1`, `$p->count++`.
bool writes_target(const ast::Expr& expr) {
    const ast::Expr* target = nullptr;
    if (expr.kind == ast::ExprKind::Assign)
        target = ast::as<ast::AssignExpr>(expr).target;
    else if (expr.kind == ast::ExprKind::IncDec)
        target = ast::as<ast::IncDecExpr>(expr).target;
    return target && (target->kind == ast::ExprKind::Target || target->kind == ast::ExprKind::Member);
}

// Whether the expression replaces the result of the probed function: `$return = 0`.
bool sets_result(const ast::Expr& expr) {
    if (expr.kind != ast::ExprKind::Assign || ast::as<ast::AssignExpr>(expr).target->kind != ast::ExprKind::Target)
        return false;
    const auto& target = ast::as<ast::TargetExpr>(*ast::as<ast::AssignExpr>(expr).target);
    return target.base == ast::TargetExpr::Variable && target.name == "$return" && target.components.empty();
}

// Whether the expression needs the registers at the point. Not every kind of probe has all of them.
bool reads_register(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::AtOperator)
        return ast::as<ast::AtOperatorExpr>(expr).name == "@kregister";
    if (expr.kind != ast::ExprKind::Call)
        return false;
    const hir::Primitive* primitive = hir::find_primitive(ast::as<ast::CallExpr>(expr).name);
    return primitive && primitive->reads_registers;
}

// Whether the expression needs the frame of a coroutine, which is known only after the prologue.
bool needs_coroutine_frame(const ast::Expr& expr) {
    return expr.kind == ast::ExprKind::AtOperator && ast::as<ast::AtOperatorExpr>(expr).name == "@__async_own";
}

bool reads_result(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Target) {
        const auto& target = ast::as<ast::TargetExpr>(expr);
        return target.base == ast::TargetExpr::Variable && target.name.starts_with("$return");
    }
    if (expr.kind == ast::ExprKind::AtOperator) // the library's returnval()
        return ast::as<ast::AtOperatorExpr>(expr).name == "@__result";
    const hir::Primitive* primitive =
        expr.kind == ast::ExprKind::Call ? hir::find_primitive(ast::as<ast::CallExpr>(expr).name) : nullptr;
    return primitive && primitive->reads_result;
}
} // namespace

PointUses PointUseFinder::of_body(const ast::Stmt& body, std::string_view c_code, FileId file) {
    PointUses uses;
    // Uses a list instead of recursion, because functions can call each other to any depth.
    Todo todo = {{&body, c_code, file}};
    std::set<const NamedFunction*> seen;
    while (!todo.empty()) {
        const Part part = todo.back();
        todo.pop_back();
        if (!part.c_code.empty())
            go_on_in_c(part, todo, seen);
        for_each_expr(*part.stmt, [&](const ast::Expr& expr) {
            uses.point = uses.point || mentions_point(expr);
            if (expr.kind == ast::ExprKind::Target)
                uses.targets.push_back(&ast::as<ast::TargetExpr>(expr));
            uses.writes = uses.writes || writes_target(expr);
            if (!uses.sets_result && sets_result(expr))
                uses.sets_result = &expr;
            uses.registers = uses.registers || reads_register(expr);
            uses.address = uses.address || needs_coroutine_frame(expr);
            if (!uses.result && reads_result(expr))
                uses.result = &expr;
            if (expr.kind == ast::ExprKind::AddressOf) {
                const ast::Expr& operand = *ast::as<ast::AddressOfExpr>(expr).operand;
                uses.address = uses.address || (operand.kind == ast::ExprKind::Target &&
                                                ast::as<ast::TargetExpr>(operand).components.empty());
            }
            if (expr.kind == ast::ExprKind::Embedded)
                go_on_in_c({part.stmt, ast::as<ast::EmbeddedExpr>(expr).text, part.file}, todo, seen);
            if (expr.kind == ast::ExprKind::Call)
                go_on(ast::as<ast::CallExpr>(expr).name, ast::as<ast::CallExpr>(expr).args.size(), part.file, todo,
                      seen);
        });
    }
    return uses;
}

// Adds the bodies of the functions with this name to the list.
void PointUseFinder::go_on(const std::string& name, size_t arity, FileId from, Todo& todo,
                           std::set<const NamedFunction*>& seen) {
    std::vector<NamedFunction*> callees = names_.overloads(name, arity, from);
    if (callees.empty()) {
        names_.pull_in_function(name);
        callees = names_.overloads(name, arity, from);
    }
    for (NamedFunction* callee : callees)
        if (callee->ast->body && seen.insert(callee).second)
            todo.push_back({callee->ast->body, callee->ast->embedded, callee->file});
}

// Adds the functions that a C text calls, directly or through the declarations that it may use.
void PointUseFinder::go_on_in_c(const Part& part, Todo& todo, std::set<const NamedFunction*>& seen) {
    std::vector<std::string_view> texts = {part.c_code};
    for (const ast::CBlock& block : names_.c_blocks())
        texts.push_back(block.text);
    for (std::string_view text : texts)
        for (const CCallee& callee : c_callees(scan_c(text)))
            go_on(callee.function, callee.arguments, part.file, todo, seen);
}

const PointUses& PointUseFinder::of_function(const NamedFunction& entry) {
    auto [known, fresh] = known_.try_emplace(&entry);
    if (fresh && entry.ast->body)
        known->second = of_body(*entry.ast->body, entry.ast->embedded, entry.file);
    return known->second;
}

} // namespace sonde
