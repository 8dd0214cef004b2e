// One switch over all kinds of nodes, for all walks. A new kind of expression or statement must be added here: a walk
// that does not visit a child silently misses everything below it.
#include "frontend/hir/walk.h"

namespace sonde {

void for_each_expr(const hir::Expr& expr, const std::function<void(const hir::Expr&)>& visit) {
    using namespace hir;
    visit(expr);
    auto one = [&](const Expr* e) {
        if (e)
            for_each_expr(*e, visit);
    };
    auto all = [&](const std::vector<Expr*>& list) {
        for (const Expr* e : list)
            one(e);
    };
    switch (expr.kind) {
    case ExprKind::ConstLong:
    case ExprKind::ConstString:
    case ExprKind::LocalRef:
    case ExprKind::GlobalRef:
    case ExprKind::Register:
    case ExprKind::Argument:
    case ExprKind::EntryRead:
    case ExprKind::PointNumber:
        break;
    case ExprKind::Element:
        all(as<Element>(expr).keys);
        break;
    case ExprKind::Unary:
        one(as<Unary>(expr).operand);
        break;
    case ExprKind::Binary:
        one(as<Binary>(expr).left);
        one(as<Binary>(expr).right);
        break;
    case ExprKind::Logical:
        one(as<Logical>(expr).left);
        one(as<Logical>(expr).right);
        break;
    case ExprKind::Concat:
        one(as<Concat>(expr).left);
        one(as<Concat>(expr).right);
        break;
    case ExprKind::Guarded:
        one(as<Guarded>(expr).text);
        one(as<Guarded>(expr).otherwise);
        break;
    case ExprKind::Ternary:
        one(as<Ternary>(expr).condition);
        one(as<Ternary>(expr).then_value);
        one(as<Ternary>(expr).else_value);
        break;
    case ExprKind::Assign:
        one(as<Assign>(expr).target);
        one(as<Assign>(expr).value);
        break;
    case ExprKind::StatAdd:
        one(as<StatAdd>(expr).target);
        one(as<StatAdd>(expr).value);
        break;
    case ExprKind::StatRead:
        one(as<StatRead>(expr).source);
        break;
    case ExprKind::HistBucket:
        one(as<HistBucket>(expr).source);
        one(as<HistBucket>(expr).index);
        break;
    case ExprKind::Contains:
        all(as<Contains>(expr).keys);
        break;
    case ExprKind::Regex:
        one(as<Regex>(expr).subject);
        break;
    case ExprKind::Call:
        all(as<Call>(expr).args);
        break;
    case ExprKind::Intrinsic:
        all(as<Intrinsic>(expr).args);
        break;
    case ExprKind::Print:
        all(as<Print>(expr).args);
        break;
    case ExprKind::Load:
        one(as<Load>(expr).address);
        break;
    case ExprKind::Store:
        one(as<Store>(expr).address);
        one(as<Store>(expr).value);
        break;
    case ExprKind::Retype:
        one(as<Retype>(expr).operand);
        break;
    case ExprKind::TextNumber:
        one(as<TextNumber>(expr).text);
        break;
    case ExprKind::NumberedText:
        one(as<NumberedText>(expr).number);
        break;
    case ExprKind::TableWord:
        one(as<TableWord>(expr).index);
        break;
    }
}

void for_each_stmt(const hir::Stmt& stmt, const std::function<void(const hir::Stmt&)>& visit) {
    using namespace hir;
    visit(stmt);
    auto one = [&](const Stmt* s) {
        if (s)
            for_each_stmt(*s, visit);
    };
    switch (stmt.kind) {
    case StmtKind::Block:
        for (const Stmt* s : as<Block>(stmt).body)
            one(s);
        break;
    case StmtKind::If:
        one(as<If>(stmt).then_body);
        one(as<If>(stmt).else_body);
        break;
    case StmtKind::Loop:
        one(as<Loop>(stmt).body);
        break;
    case StmtKind::Foreach:
        one(as<Foreach>(stmt).body);
        break;
    case StmtKind::Try:
        one(as<Try>(stmt).body);
        one(as<Try>(stmt).handler);
        break;
    case StmtKind::Expression:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Next:
    case StmtKind::Return:
    case StmtKind::Delete:
        break;
    }
}

void for_each_expr(const hir::Stmt& stmt, const std::function<void(const hir::Expr&)>& visit) {
    using namespace hir;
    for_each_stmt(stmt, [&](const Stmt& s) {
        auto one = [&](const Expr* e) {
            if (e)
                for_each_expr(*e, visit);
        };
        switch (s.kind) {
        case StmtKind::Expression:
            one(as<ExprStmt>(s).expr);
            break;
        case StmtKind::If:
            one(as<If>(s).condition);
            break;
        case StmtKind::Loop:
            one(as<Loop>(s).init);
            one(as<Loop>(s).condition);
            one(as<Loop>(s).step);
            break;
        case StmtKind::Foreach:
            one(as<Foreach>(s).limit);
            one(as<Foreach>(s).histogram);
            for (const Expr* e : as<Foreach>(s).slice)
                one(e);
            break;
        case StmtKind::Return:
            one(as<Return>(s).value);
            break;
        case StmtKind::Delete:
            for (const Expr* e : as<Delete>(s).keys)
                one(e);
            break;
        default:
            break;
        }
    });
}

void for_each_expr(const hir::Handler& handler, const std::function<void(const hir::Expr&)>& visit) {
    if (handler.condition)
        for_each_expr(*handler.condition, visit);
    for (const hir::Expr* value : handler.entry_values)
        for_each_expr(*value, visit);
    for_each_expr(*handler.body, visit);
}

hir::Global* global_of(const hir::Expr& expr) {
    if (expr.kind == hir::ExprKind::GlobalRef)
        return hir::as<hir::GlobalRef>(expr).global;
    if (expr.kind == hir::ExprKind::Element)
        return hir::as<hir::Element>(expr).array;
    return nullptr;
}

const hir::Expr* only_result(const hir::Function& function) {
    const hir::Stmt* statement = function.body;
    while (statement && statement->kind == hir::StmtKind::Block && hir::as<hir::Block>(*statement).body.size() == 1)
        statement = hir::as<hir::Block>(*statement).body[0];
    return statement && statement->kind == hir::StmtKind::Return ? hir::as<hir::Return>(*statement).value : nullptr;
}

const void* variable_of(const hir::Expr& target) {
    switch (target.kind) {
    case hir::ExprKind::LocalRef:
        return hir::as<hir::LocalRef>(target).local;
    case hir::ExprKind::GlobalRef:
    case hir::ExprKind::Element:
        return global_of(target);
    default:
        return nullptr;
    }
}

} // namespace sonde
