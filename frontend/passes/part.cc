#include "frontend/passes/part.h"

#include <cstdint>
#include <set>
#include <vector>

#include "frontend/hir/walk.h"

namespace sonde {
namespace {

// Collects the globals that a handler uses, itself or in functions that it calls.
class Used {
  public:
    std::set<const hir::Global*> globals;

    void handler(const hir::Handler& handler) {
        for_each_stmt(*handler.body, [&](const hir::Stmt& stmt) { statement(stmt); });
        for_each_expr(handler, [&](const hir::Expr& expr) { expression(expr); });
        while (!todo_.empty()) {
            const hir::Function* function = todo_.back();
            todo_.pop_back();
            for_each_stmt(*function->body, [&](const hir::Stmt& stmt) { statement(stmt); });
            for_each_expr(*function->body, [&](const hir::Expr& expr) { expression(expr); });
        }
    }

  private:
    void statement(const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Delete)
            globals.insert(hir::as<hir::Delete>(stmt).global);
        else if (stmt.kind == hir::StmtKind::Foreach)
            globals.insert(hir::as<hir::Foreach>(stmt).array); // null for a loop over a histogram
    }
    void expression(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Contains)
            globals.insert(hir::as<hir::Contains>(expr).array);
        else if (expr.kind == hir::ExprKind::Call && seen_.insert(hir::as<hir::Call>(expr).callee).second)
            todo_.push_back(hir::as<hir::Call>(expr).callee);
        globals.insert(global_of(expr));
    }

    std::vector<const hir::Function*> todo_;
    std::set<const hir::Function*> seen_;
};

} // namespace

void bound_keys_of_part(hir::Program& program) {
    for (hir::Global* global : program.globals)
        global->key_bounds.assign(global->keys.size(), hir::KeyBound{.length = UINT32_MAX});
}

void exclude_parts(hir::Program& program) {
    program.locks = 1;
    for (hir::Handler* handler : program.handlers) {
        Used used;
        used.handler(*handler);
        for (const hir::Global* global : program.globals) {
            if (!global->is_own || !used.globals.contains(global))
                continue;
            handler->lock = 0;
            handler->locked_for += (handler->locked_for.empty() ? "" : ", ") + global->name;
        }
    }
}

} // namespace sonde
