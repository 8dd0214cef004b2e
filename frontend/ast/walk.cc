// One switch over all kinds of nodes, for all walks over the syntax tree. A new kind must be added here: a walk that
// does not visit a child silently misses everything below it.
#include "frontend/ast/walk.h"

namespace sonde {

void for_each_expr(const ast::Expr& expr, const std::function<void(const ast::Expr&)>& visit) {
    using namespace ast;
    visit(expr);
    auto one = [&](const Expr* e) {
        if (e)
            for_each_expr(*e, visit);
    };
    auto all = [&](const std::vector<Expr*>& list) {
        for (const Expr* e : list)
            one(e);
    };
    auto components = [&](const std::vector<Component>& list) {
        for (const Component& component : list)
            one(component.index);
    };
    switch (expr.kind) {
    case ExprKind::Number:
    case ExprKind::String:
    case ExprKind::Name:
    case ExprKind::Wildcard:
    case ExprKind::Embedded:
        break;
    case ExprKind::Index:
        all(as<IndexExpr>(expr).keys);
        break;
    case ExprKind::Call:
        all(as<CallExpr>(expr).args);
        break;
    case ExprKind::Print:
        all(as<PrintExpr>(expr).args);
        break;
    case ExprKind::Unary:
        one(as<UnaryExpr>(expr).operand);
        break;
    case ExprKind::Binary:
        one(as<BinaryExpr>(expr).left);
        one(as<BinaryExpr>(expr).right);
        break;
    case ExprKind::Ternary:
        one(as<TernaryExpr>(expr).condition);
        one(as<TernaryExpr>(expr).then_value);
        one(as<TernaryExpr>(expr).else_value);
        break;
    case ExprKind::Assign:
        one(as<AssignExpr>(expr).target);
        one(as<AssignExpr>(expr).value);
        break;
    case ExprKind::IncDec:
        one(as<IncDecExpr>(expr).target);
        break;
    case ExprKind::In:
        all(as<InExpr>(expr).keys);
        if (as<InExpr>(expr).histogram)
            one(as<InExpr>(expr).histogram);
        break;
    case ExprKind::Target:
        one(as<TargetExpr>(expr).operand);
        components(as<TargetExpr>(expr).components);
        break;
    case ExprKind::AddressOf:
        one(as<AddressOfExpr>(expr).operand);
        break;
    case ExprKind::Defined:
        one(as<DefinedExpr>(expr).operand);
        break;
    case ExprKind::Entry:
        one(as<EntryExpr>(expr).operand);
        break;
    case ExprKind::Statistic:
        one(as<StatisticExpr>(expr).operand);
        break;
    case ExprKind::HistIndex:
        one(as<HistIndexExpr>(expr).histogram);
        one(as<HistIndexExpr>(expr).index);
        break;
    case ExprKind::AtOperator:
        all(as<AtOperatorExpr>(expr).args);
        break;
    case ExprKind::Member:
        one(as<MemberExpr>(expr).base);
        components(as<MemberExpr>(expr).components);
        break;
    }
}

void for_each_stmt(const ast::Stmt& stmt, const std::function<void(const ast::Stmt&)>& visit) {
    using namespace ast;
    auto body = [&](const Stmt* s) {
        if (s)
            for_each_stmt(*s, visit);
    };
    visit(stmt);
    switch (stmt.kind) {
    case StmtKind::Block:
        for (const Stmt* s : as<BlockStmt>(stmt).body)
            body(s);
        break;
    case StmtKind::If:
        body(as<IfStmt>(stmt).then_body);
        body(as<IfStmt>(stmt).else_body);
        break;
    case StmtKind::While:
        body(as<WhileStmt>(stmt).body);
        break;
    case StmtKind::For:
        body(as<ForStmt>(stmt).body);
        break;
    case StmtKind::Foreach:
        body(as<ForeachStmt>(stmt).body);
        break;
    case StmtKind::Try:
        body(as<TryStmt>(stmt).body);
        body(as<TryStmt>(stmt).handler);
        break;
    default:
        break;
    }
}

void for_each_expr(const ast::Stmt& stmt, const std::function<void(const ast::Expr&)>& visit) {
    using namespace ast;
    auto maybe = [&](const Expr* e) {
        if (e)
            for_each_expr(*e, visit);
    };
    for_each_stmt(stmt, [&](const Stmt& s) {
        switch (s.kind) {
        case StmtKind::Expression:
            maybe(as<ExprStmt>(s).expr);
            break;
        case StmtKind::If:
            maybe(as<IfStmt>(s).condition);
            break;
        case StmtKind::While:
            maybe(as<WhileStmt>(s).condition);
            break;
        case StmtKind::For:
            maybe(as<ForStmt>(s).init);
            maybe(as<ForStmt>(s).condition);
            maybe(as<ForStmt>(s).step);
            break;
        case StmtKind::Foreach:
            maybe(as<ForeachStmt>(s).collection);
            maybe(as<ForeachStmt>(s).limit);
            break;
        case StmtKind::Return:
            maybe(as<ReturnStmt>(s).value);
            break;
        case StmtKind::Delete:
            maybe(as<DeleteStmt>(s).target);
            break;
        default:
            break;
        }
    });
}

bool mentions_point(const ast::Expr& expr) {
    switch (expr.kind) {
    case ast::ExprKind::Target:
    case ast::ExprKind::AddressOf:
    case ast::ExprKind::Defined:
    case ast::ExprKind::Entry:
    case ast::ExprKind::AtOperator:
    case ast::ExprKind::Member:
        return true;
    default:
        return false;
    }
}

} // namespace sonde
