// What a body mentions of its probe point, itself or in functions that it calls.
#include "frontend/sema/reach.h"

#include <set>
#include <utility>

#include "frontend/ast/walk.h"
#include "frontend/hir/primitives.h"

namespace sonde {

namespace {
bool writes_target(const ast::Expr& expr) {
    const ast::Expr* target = nullptr;
    if (expr.kind == ast::ExprKind::Assign)
        target = ast::as<ast::AssignExpr>(expr).target;
    else if (expr.kind == ast::ExprKind::IncDec)
        target = ast::as<ast::IncDecExpr>(expr).target;
    return target && (target->kind == ast::ExprKind::Target || target->kind == ast::ExprKind::Member);
}

bool reads_register(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::AtOperator)
        return ast::as<ast::AtOperatorExpr>(expr).name == "@kregister";
    if (expr.kind != ast::ExprKind::Call)
        return false;
    const hir::Primitive* primitive = hir::find_primitive(ast::as<ast::CallExpr>(expr).name);
    return primitive && primitive->reads_registers;
}
} // namespace

Reach Reaches::of_body(const ast::Stmt& body, FileId file) {
    Reach reach;
    // A list, and no recursion: functions may call each other as deep as they like.
    std::vector<std::pair<const ast::Stmt*, FileId>> todo = {{&body, file}};
    std::set<const NamedFunction*> seen;
    while (!todo.empty()) {
        auto [stmt, from] = todo.back();
        todo.pop_back();
        for_each_expr(*stmt, [&, from = from](const ast::Expr& expr) {
            reach.point = reach.point || mentions_point(expr);
            if (expr.kind == ast::ExprKind::Target)
                reach.targets.push_back(&ast::as<ast::TargetExpr>(expr));
            reach.writes = reach.writes || writes_target(expr);
            reach.registers = reach.registers || reads_register(expr);
            if (expr.kind == ast::ExprKind::AddressOf) {
                const ast::Expr& operand = *ast::as<ast::AddressOfExpr>(expr).operand;
                reach.address = reach.address || (operand.kind == ast::ExprKind::Target &&
                                                  ast::as<ast::TargetExpr>(operand).components.empty());
            }
            if (expr.kind != ast::ExprKind::Call)
                return;
            const auto& call = ast::as<ast::CallExpr>(expr);
            std::vector<NamedFunction*> callees = names_.overloads(call.name, call.args.size(), from);
            if (callees.empty()) {
                names_.pull_in_function(call.name);
                callees = names_.overloads(call.name, call.args.size(), from);
            }
            for (NamedFunction* callee : callees)
                if (callee->ast->body && seen.insert(callee).second)
                    todo.emplace_back(callee->ast->body, callee->file);
        });
    }
    return reach;
}

const Reach& Reaches::of_function(const NamedFunction& entry) {
    auto [known, fresh] = known_.try_emplace(&entry);
    if (fresh && entry.ast->body)
        known->second = of_body(*entry.ast->body, entry.file);
    return known->second;
}

} // namespace sonde
