// Converts expressions to HIR.
//
// The functions never return null. After an error they return a value of the right kind (mostly 0), so that the rest of
// the script is still checked. An error is reported once for each position, because a function can be built several
// times, for several probe points.
//
// Types are not known here: `a = b` may be about numbers or strings. infer.cc finds that out when all bodies exist.
// Only facts that need the source form are recorded now, in Body::tables.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/hir/walk.h"
#include "frontend/lex/token.h"
#include "frontend/sema/build_c.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_name.h"
#include "frontend/sema/build_operators.h"
#include "frontend/sema/build_print.h"
#include "frontend/sema/build_target.h"
#include "runtime/plan/kinds.h"

namespace sonde {

namespace {

hir::Expr* build_unary(Body& b, const ast::UnaryExpr& expr);
hir::Expr* build_logical(Body& b, const ast::BinaryExpr& expr);
hir::Expr* build_binary(Body& b, const ast::BinaryExpr& expr);
hir::Expr* build_regex(Body& b, const ast::BinaryExpr& expr);
hir::Expr* build_ternary(Body& b, const ast::TernaryExpr& expr);
hir::Expr* build_assign(Body& b, const ast::AssignExpr& expr, bool value_unused);
// Builds `$value = e` and similar assignments, by which a handler decides something for the probed code. Returns
// nullopt for an ordinary assignment.
std::optional<hir::Expr*> build_decision(Body& b, const ast::AssignExpr& expr);
hir::Expr* build_incdec(Body& b, const ast::IncDecExpr& expr, bool value_unused);

} // namespace

hir::Expr* build_condition(Body& b, const ast::Expr& expr, FileId file) {
    FileId saved = std::exchange(b.file, file);
    hir::Expr* out = build_expr(b, expr);
    b.file = saved;
    return out;
}

hir::Expr* build_effect(Body& b, const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Assign)
        return build_assign(b, ast::as<ast::AssignExpr>(expr), true);
    if (expr.kind == ast::ExprKind::IncDec)
        return build_incdec(b, ast::as<ast::IncDecExpr>(expr), true);
    if (expr.kind == ast::ExprKind::Embedded)
        return build_c_expression(b, ast::as<ast::EmbeddedExpr>(expr), true);
    return build_expr(b, expr);
}

hir::Expr* build_expr(Body& b, const ast::Expr& expr) {
    using ast::ExprKind;
    Range range = expr.range;
    switch (expr.kind) {
    case ExprKind::Number:
        return b.make<hir::ConstLong>(range, ast::as<ast::NumberExpr>(expr).value);
    case ExprKind::String:
        b.context.check_length(range, ast::as<ast::StringExpr>(expr).value);
        return b.make<hir::ConstString>(range, ast::as<ast::StringExpr>(expr).value);
    case ExprKind::Name:
        return build_name(b, ast::as<ast::NameExpr>(expr));
    case ExprKind::Index:
        return build_index(b, ast::as<ast::IndexExpr>(expr));
    case ExprKind::Wildcard:
        b.context.report_once(DiagId::Syntax, range, "`*` matches any key only in `foreach`, `delete` and `in`");
        return b.zero(range);
    case ExprKind::Embedded:
        return build_c_expression(b, ast::as<ast::EmbeddedExpr>(expr), false);
    case ExprKind::Call:
        return build_call(b, ast::as<ast::CallExpr>(expr));
    case ExprKind::Print:
        return build_print(b, ast::as<ast::PrintExpr>(expr));
    case ExprKind::Unary:
        return build_unary(b, ast::as<ast::UnaryExpr>(expr));
    case ExprKind::Binary:
        return build_binary(b, ast::as<ast::BinaryExpr>(expr));
    case ExprKind::Ternary:
        return build_ternary(b, ast::as<ast::TernaryExpr>(expr));
    case ExprKind::Assign:
        return build_assign(b, ast::as<ast::AssignExpr>(expr), false);
    case ExprKind::IncDec:
        return build_incdec(b, ast::as<ast::IncDecExpr>(expr), false);
    case ExprKind::In: {
        const auto& e = ast::as<ast::InExpr>(expr);
        if (e.histogram)
            return build_in_histogram(b, *e.histogram, *e.keys[0], range);
        hir::Global* global = find_array(b, e.array, e.array_range);
        if (!global)
            return b.zero(range);
        return b.make<hir::Contains>(range, global, build_keys(b, e.keys, true, *global, range));
    }
    case ExprKind::Target:
        return build_target(b, ast::as<ast::TargetExpr>(expr), false);
    case ExprKind::AddressOf:
        return build_address(b, ast::as<ast::AddressOfExpr>(expr));
    case ExprKind::Defined:
        return b.make<hir::ConstLong>(range, is_defined(b, *ast::as<ast::DefinedExpr>(expr).operand));
    case ExprKind::Entry:
        return build_entry(b, ast::as<ast::EntryExpr>(expr));
    case ExprKind::Statistic:
        return build_statistic(b, ast::as<ast::StatisticExpr>(expr));
    case ExprKind::HistIndex:
        return build_bucket(b, ast::as<ast::HistIndexExpr>(expr));
    case ExprKind::AtOperator:
        return build_at(b, ast::as<ast::AtOperatorExpr>(expr));
    case ExprKind::Member:
        return build_target(b, as_target(ast::as<ast::MemberExpr>(expr)), false);
    }
    UNREACHABLE("expression kind");
}

namespace {
// Whether the target is in the memory of the traced program, not a script variable.
bool is_memory(const ast::Expr& target) {
    return target.kind == ast::ExprKind::Target || target.kind == ast::ExprKind::Member;
}

std::optional<hir::BinaryOp> to_hir(ast::BinaryOp op) {
    using A = ast::BinaryOp;
    using H = hir::BinaryOp;
    switch (op) {
    case A::Mul:
        return H::Mul;
    case A::Div:
        return H::Div;
    case A::Mod:
        return H::Mod;
    case A::Add:
        return H::Add;
    case A::Sub:
        return H::Sub;
    case A::Shl:
        return H::Shl;
    case A::Shr:
        return H::Shr;
    case A::ShrLogical:
        return H::ShrLogical;
    case A::Lt:
        return H::Lt;
    case A::Le:
        return H::Le;
    case A::Eq:
        return H::Eq;
    case A::Ne:
        return H::Ne;
    case A::Ge:
        return H::Ge;
    case A::Gt:
        return H::Gt;
    case A::BitAnd:
        return H::And;
    case A::BitXor:
        return H::Xor;
    case A::BitOr:
        return H::Or;
    default:
        return std::nullopt;
    }
}

// `-5` is folded to a constant, because the parser accepts a sign only in front of a literal in some places.
hir::Expr* build_unary(Body& b, const ast::UnaryExpr& expr) {
    hir::Expr* operand = build_expr(b, *expr.operand);
    switch (expr.op) {
    case ast::UnaryOp::Plus:
        return operand;
    case ast::UnaryOp::Minus:
        if (operand->kind == hir::ExprKind::ConstLong) {
            uint64_t value = static_cast<uint64_t>(hir::as<hir::ConstLong>(*operand).value);
            return b.make<hir::ConstLong>(expr.range, static_cast<int64_t>(0 - value));
        }
        return b.make<hir::Unary>(expr.range, hir::UnaryOp::Minus, operand);
    case ast::UnaryOp::Not:
        return b.make<hir::Unary>(expr.range, hir::UnaryOp::Not, operand);
    case ast::UnaryOp::BitNot:
        return b.make<hir::Unary>(expr.range, hir::UnaryOp::BitNot, operand);
    }
    UNREACHABLE("unary operator");
}

hir::Expr* build_logical(Body& b, const ast::BinaryExpr& expr) {
    if (std::optional<bool> value = known_value(b, expr))
        return b.make<hir::ConstLong>(expr.range, *value);
    // In `@defined($x) && $x > 1`, a known left side that does not decide the result leaves only the right side.
    if (known_value(b, *expr.left) && expr.left->kind != ast::ExprKind::Number)
        return b.make<hir::Binary>(expr.op_range, hir::BinaryOp::Ne, build_expr(b, *expr.right), b.zero(expr.range));
    hir::Expr* left = build_expr(b, *expr.left);
    return b.make<hir::Logical>(expr.range, expr.op == ast::BinaryOp::And, left, build_expr(b, *expr.right));
}

// The range of a HIR operation is that of its operator: a division by zero is reported there.
hir::Expr* build_binary(Body& b, const ast::BinaryExpr& expr) {
    if (expr.op == ast::BinaryOp::And || expr.op == ast::BinaryOp::Or)
        return build_logical(b, expr);
    if (expr.op == ast::BinaryOp::Match || expr.op == ast::BinaryOp::NotMatch)
        return build_regex(b, expr);
    hir::Expr* left = build_expr(b, *expr.left);
    hir::Expr* right = build_expr(b, *expr.right);
    if (expr.op == ast::BinaryOp::Concat && left->kind == hir::ExprKind::ConstString &&
        right->kind == hir::ExprKind::ConstString) {
        const std::string& first = hir::as<hir::ConstString>(*left).value;
        const std::string& second = hir::as<hir::ConstString>(*right).value;
        if (std::max(first.size(), second.size()) < b.context.options.max_string()) // else it is said of a part
            b.context.check_length(expr.range, first + second);
        return b.make<hir::ConstString>(expr.range, first + second);
    }
    if (expr.op == ast::BinaryOp::Concat)
        return b.make<hir::Concat>(expr.range, left, right);
    return b.make<hir::Binary>(expr.op_range, *to_hir(expr.op), left, right);
}

// Parses the expression, so that errors in it are reported with their place. The automaton is built later
// (compile_regexes()), when it is known whether the script asks for groups.
hir::Expr* build_regex(Body& b, const ast::BinaryExpr& expr) {
    hir::Expr* subject = build_expr(b, *expr.left);
    const auto& literal = ast::as<ast::StringExpr>(*expr.right); // the parser has checked that it is a literal
    regex::Problem problem;
    std::optional<regex::Pattern> pattern = regex::parse(literal.value, problem);
    if (!pattern) {
        Range range = range_in_string(literal.range, problem.begin, problem.end, b.context.diags.sources());
        DiagBuilder report = b.context.report_once(DiagId::BadRegex, range, problem.message);
        if (!problem.help.empty())
            report.help(problem.help);
        return b.zero(expr.range);
    }
    auto* out = b.make<hir::Regex>(expr.op_range, subject, literal.value, std::move(*pattern),
                                   expr.op == ast::BinaryOp::NotMatch);
    b.tables.regexes.emplace_back(out, literal.range);
    return out;
}

// If the condition is known, as for `@defined($x)`, only the operand that is chosen is built. The other one may name a
// variable that does not exist here.
hir::Expr* build_ternary(Body& b, const ast::TernaryExpr& expr) {
    if (expr.condition->kind != ast::ExprKind::Number)
        if (std::optional<bool> value = known_value(b, *expr.condition))
            return build_expr(b, *value ? *expr.then_value : *expr.else_value);
    hir::Expr* condition = build_expr(b, *expr.condition);
    hir::Expr* then_value = build_expr(b, *expr.then_value);
    return b.make<hir::Ternary>(expr.range, condition, then_value, build_expr(b, *expr.else_value));
}

// Records the source form of the keys where the script first fills an array; it labels the columns in the output.
void note_key_names(const hir::Expr& target, const ast::Expr& written) {
    hir::Global* global = global_of(target);
    if (target.kind != hir::ExprKind::Element || written.kind != ast::ExprKind::Index)
        return;
    const std::vector<ast::Expr*>& keys = ast::as<ast::IndexExpr>(written).keys;
    global->key_names.resize(keys.size());
    for (size_t i = 0; i < keys.size(); i++)
        if (global->key_names[i].empty() && keys[i])
            global->key_names[i] = ast::name_of_value(*keys[i]);
}

// Four kinds of assignments share this syntax: `s <<< v` adds to a statistic, `$value = v` decides something for the
// probed code, `$x->y = v` writes to the traced program, and all others set a variable of the script. The value is
// built first, because it is evaluated first.
hir::Expr* build_assign(Body& b, const ast::AssignExpr& expr, bool value_unused) {
    if (expr.aggregate) {
        hir::Expr* target = build_stats_source(b, *expr.target);
        if (target)
            note_key_names(*target, *expr.target);
        hir::Expr* value = build_expr(b, *expr.value);
        return target ? static_cast<hir::Expr*>(b.make<hir::StatAdd>(expr.range, target, value)) : value;
    }
    if (std::optional<hir::Expr*> decision = build_decision(b, expr))
        return *decision;
    hir::Expr* value = build_expr(b, *expr.value);
    if (is_memory(*expr.target)) {
        if (expr.op == ast::BinaryOp::Concat) {
            b.context
                .report_once(DiagId::TypeMismatch, expr.range,
                             fmt::format("`.=` joins strings, and `{}` is a number", ast::to_source(*expr.target)))
                .help("`set_user_string(ADDRESS, TEXT)` writes a string");
            return value;
        }
        return build_store(b, *expr.target, {value, expr.op ? to_hir(*expr.op) : std::nullopt, false, expr.range});
    }
    hir::Expr* target = build_lvalue(b, *expr.target);
    if (!target)
        return value;
    note_key_names(*target, *expr.target);
    if ((expr.op || !value_unused) && target->kind == hir::ExprKind::LocalRef)
        b.tables.read.insert(hir::as<hir::LocalRef>(*target).local);
    auto* assign = b.make<hir::Assign>(expr.range, target, value);
    assign->value_unused = value_unused;
    if (!value_unused && target->kind == hir::ExprKind::LocalRef)
        hir::as<hir::LocalRef>(*target).local->assigned_within = true;
    if (!expr.op)
        record_c_type(b.tables, variable_of(*target), *value);
    if (expr.op) {
        assign->concat = *expr.op == ast::BinaryOp::Concat;
        if (!assign->concat)
            assign->op = to_hir(*expr.op);
    }
    return assign;
}

std::optional<hir::Expr*> build_decision(Body& b, const ast::AssignExpr& expr) {
    if (expr.target->kind != ast::ExprKind::Target || !b.point)
        return std::nullopt;
    bool append = expr.op == ast::BinaryOp::Concat;
    if (expr.op && !append)
        return std::nullopt;
    const auto& target = ast::as<ast::TargetExpr>(*expr.target);
    if (!plan::is_file(b.point->kind) && !plan::decides(b.point->kind) && !b.point->recorded)
        return std::nullopt;
    hir::Expr* value = build_expr(b, *expr.value);
    Binder with = make_binder(b, expr.range);
    std::optional<hir::Expr*> call = bind_assignment(target, append, value, *b.point, with);
    if (call && !*call)
        return b.zero(expr.range);
    return call;
}

// `x++` is an assignment with an operator, like `x += 1`. Only if its value is used does it matter whether the old or
// the new one is meant.
hir::Expr* build_incdec(Body& b, const ast::IncDecExpr& expr, bool value_unused) {
    if (is_memory(*expr.target))
        return build_store(b, *expr.target,
                           {b.make<hir::ConstLong>(expr.range, 1),
                            expr.increment ? hir::BinaryOp::Add : hir::BinaryOp::Sub, !expr.prefix && !value_unused,
                            expr.range});
    hir::Expr* target = build_lvalue(b, *expr.target);
    if (!target)
        return b.zero(expr.range);
    note_key_names(*target, *expr.target);
    if (target->kind == hir::ExprKind::LocalRef)
        b.tables.read.insert(hir::as<hir::LocalRef>(*target).local);
    auto* assign = b.make<hir::Assign>(expr.range, target, b.make<hir::ConstLong>(expr.range, 1));
    assign->op = expr.increment ? hir::BinaryOp::Add : hir::BinaryOp::Sub;
    assign->gives_old = !expr.prefix && !value_unused;
    assign->value_unused = value_unused;
    return assign;
}

} // namespace

} // namespace sonde
