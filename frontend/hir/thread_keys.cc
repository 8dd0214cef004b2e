#include "frontend/hir/thread_keys.h"

#include <algorithm>
#include <map>

#include "frontend/hir/walk.h"

namespace sonde {

ThreadKeys::ThreadKeys(const hir::Program& program) {
    for (const hir::Handler* handler : program.handlers)
        find_locals(*handler->body);
    for (const hir::Function* function : program.functions)
        find_locals(*function->body);
}

bool ThreadKeys::is_thread(const hir::Expr* key) const {
    if (!key)
        return false;
    if (key->kind == hir::ExprKind::LocalRef)
        return locals_.contains(hir::as<hir::LocalRef>(*key).local);
    return key->kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(*key).facts.per_thread;
}

bool ThreadKeys::in(const std::vector<hir::Expr*>& keys) const {
    return std::ranges::any_of(keys, [&](const hir::Expr* key) { return is_thread(key); });
}

// A local is 0 until it is assigned. So the assignment must be a statement of the body itself, which always runs, and
// everything before it must not read the local. Other assignments anywhere in the body rule the local out.
void ThreadKeys::find_locals(const hir::Block& body) {
    std::map<const hir::Local*, int> changes, uses;
    std::set<const hir::Local*> candidates;
    for_each_stmt(body, [&](const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Foreach) {
            const auto& loop = hir::as<hir::Foreach>(stmt);
            for (const hir::Local* key : loop.keys)
                changes[key]++;
            changes[loop.value]++;
        } else if (stmt.kind == hir::StmtKind::Try) {
            changes[hir::as<hir::Try>(stmt).message]++;
        }
    });
    for (const hir::Stmt* stmt : body.body) {
        const auto* assign =
            stmt->kind == hir::StmtKind::Expression && hir::as<hir::ExprStmt>(*stmt).expr->kind == hir::ExprKind::Assign
                ? &hir::as<hir::Assign>(*hir::as<hir::ExprStmt>(*stmt).expr)
                : nullptr;
        if (assign && !assign->op && !assign->concat && assign->target->kind == hir::ExprKind::LocalRef &&
            is_thread(assign->value)) {
            const hir::Local* local = hir::as<hir::LocalRef>(*assign->target).local;
            if (uses[local] == 0)
                candidates.insert(local);
        }
        for_each_expr(*stmt, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::LocalRef)
                uses[hir::as<hir::LocalRef>(expr).local]++;
            else if (expr.kind == hir::ExprKind::Assign &&
                     hir::as<hir::Assign>(expr).target->kind == hir::ExprKind::LocalRef)
                changes[hir::as<hir::LocalRef>(*hir::as<hir::Assign>(expr).target).local]++;
        });
    }
    for (const hir::Local* local : candidates)
        if (changes[local] == 1)
            locals_.insert(local);
}

} // namespace sonde
