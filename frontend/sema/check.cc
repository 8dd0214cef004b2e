// Checks that need types and all bodies.
#include <fmt/format.h>

#include "frontend/sema/analyzer.h"

namespace sonde {

namespace {

// Calls `found(range)` for every place in the body that changes `array`, also in the functions it calls.
void find_changes(const hir::Stmt& body, const hir::Global& array, std::set<const hir::Function*>& seen,
                  const std::function<void(Range)>& found) {
    using namespace hir;
    auto element_of = [&](const Expr& target) {
        return target.kind == ExprKind::Element && as<Element>(target).array == &array;
    };
    for_each_stmt(body, [&](const Stmt& stmt) {
        if (stmt.kind == StmtKind::Delete && as<Delete>(stmt).global == &array)
            found(stmt.range);
    });
    for_each_expr(body, [&](const Expr& expr) {
        if (expr.kind == ExprKind::Assign && element_of(*as<Assign>(expr).target))
            found(expr.range);
        else if (expr.kind == ExprKind::StatAdd && element_of(*as<StatAdd>(expr).target))
            found(expr.range);
        else if (expr.kind == ExprKind::Call && seen.insert(as<Call>(expr).callee).second) {
            bool inner = false;
            find_changes(*as<Call>(expr).callee->body, array, seen, [&](Range) { inner = true; });
            if (inner)
                found(expr.range);
        }
    });
}

} // namespace

void Analyzer::check_foreach() {
    auto check = [&](const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind != hir::StmtKind::Foreach || !hir::as<hir::Foreach>(stmt).array)
                return;
            const auto& loop = hir::as<hir::Foreach>(stmt);
            std::set<const hir::Function*> seen;
            find_changes(*loop.body, *loop.array, seen, [&](Range range) {
                diags_
                    .report(DiagId::ModifiedInForeach, range,
                            fmt::format("array `{}` is changed inside a loop over it", loop.array->name))
                    .note(loop.range, "the loop");
            });
        });
    };
    for (const hir::Function* function : program_->functions)
        check(*function->body);
    for (const auto* handlers : {&program_->handlers, &never_handlers_})
        for (const hir::Handler* handler : *handlers)
            check(*handler->body);
}

} // namespace sonde
