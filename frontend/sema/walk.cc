// Walks over trees and HIR.
#include "frontend/sema/analyzer.h"

namespace sonde {

// ---- syntax trees -----------------------------------------------------------------------------------------------

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

// ---- HIR --------------------------------------------------------------------------------------------------------

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

} // namespace sonde
