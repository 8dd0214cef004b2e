#include "frontend/variables/binding.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace sonde {

using hir::BinaryOp;

std::nullptr_t Binding::fail(DiagId id, Range range, const std::string& message, const std::string& help) {
    DiagBuilder report = binder.diags.report(id, range, message);
    if (!help.empty())
        report.help(help);
    // A pattern stands for many functions; say which one this is about.
    const std::string& function = point.function.name;
    if (id == DiagId::VariableUnavailable && !function.empty() && point.point.pn.find(function) == std::string::npos &&
        message.find(function) == std::string::npos)
        report.help(is_in_tools_word() ? fmt::format("that is in function `{}`", function)
                                       : fmt::format("that is at `{}`", point.point.pp));
    return nullptr;
}

bool Binding::is_in_tools_word() const { return binder.diags.sources().word_at(expr.range) != nullptr; }

std::string Binding::as_written(size_t end) const {
    ast::TargetExpr part = expr;
    part.components.resize(std::min(end, part.components.size()));
    while (!part.components.empty() && (part.components.back().kind == ast::Component::PrettyOne ||
                                        part.components.back().kind == ast::Component::PrettyDeep))
        part.components.pop_back();
    return ast::to_source(part);
}

Range Binding::base_range() const {
    Range range = expr.range;
    if (!expr.components.empty() && expr.components[0].range.begin > range.begin)
        range.end = std::min(range.end, expr.components[0].range.begin);
    if (expr.base == ast::TargetExpr::Variable)
        range.end = std::min(range.end, range.begin + static_cast<uint32_t>(expr.name.size()));
    return range;
}

int Binding::pretty_depth() const {
    if (expr.components.empty())
        return 0;
    switch (expr.components.back().kind) {
    case ast::Component::PrettyOne:
        return 1;
    case ast::Component::PrettyDeep:
        return 2;
    default:
        return 0;
    }
}

hir::Expr* Binding::number(int64_t value) { return make<hir::ConstLong>(expr.range, value); }

hir::Expr* Binding::string(const std::string& value) { return make<hir::ConstString>(expr.range, value); }

hir::Expr* Binding::binary(BinaryOp op, hir::Expr* left, hir::Expr* right) {
    return make<hir::Binary>(expr.range, op, left, right);
}

// Adds constants at translation time. `$p->a.b.c` then has one addition, and equal places have equal expressions.
hir::Expr* Binding::plus(hir::Expr* expr, int64_t offset) {
    auto sum = [](int64_t a, int64_t b) {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    };
    if (expr->kind == hir::ExprKind::ConstLong)
        return number(sum(hir::as<hir::ConstLong>(*expr).value, offset));
    if (expr->kind == hir::ExprKind::Binary) {
        const auto& inner = hir::as<hir::Binary>(*expr);
        if (inner.op == BinaryOp::Add && inner.right->kind == hir::ExprKind::ConstLong)
            return plus(inner.left, sum(hir::as<hir::ConstLong>(*inner.right).value, offset));
    }
    return offset == 0 ? expr : binary(BinaryOp::Add, expr, number(offset));
}

hir::Expr* Binding::ternary(hir::Expr* condition, hir::Expr* then_value, hir::Expr* else_value) {
    return make<hir::Ternary>(expr.range, condition, then_value, else_value);
}

hir::Expr* Binding::get(hir::Local* local) { return make<hir::LocalRef>(expr.range, local); }

hir::Stmt* Binding::set(hir::Local* local, hir::Expr* value, bool append) {
    auto* assign = make<hir::Assign>(expr.range, get(local), value);
    assign->concat = append;
    assign->value_unused = true;
    return make<hir::ExprStmt>(expr.range, assign);
}

// A constant has the same value at the entry.
hir::Expr* Binding::saved(hir::Expr* expr, bool at_entry) {
    if (!at_entry || !expr || expr->kind == hir::ExprKind::ConstLong)
        return expr;
    return binder.at_entry(expr);
}

void Binding::note_pointer(const hir::Expr* value, const Type* target) {
    if (!value || !binder.record_c_type)
        return;
    auto* pointer = make<Type>();
    pointer->kind = Type::Pointer;
    pointer->size = 8;
    pointer->target = target;
    pointer->of_kernel = target && target->of_kernel;
    binder.record_c_type(value, pointer);
}

} // namespace sonde
