// What depends on the probe point: `$variables`, @entry, @defined and the other @operators.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

namespace {

// Evaluating it twice is the same as evaluating it once.
bool is_repeatable(const hir::Expr& expr) {
    bool repeatable = true;
    for_each_expr(expr, [&](const hir::Expr& e) {
        switch (e.kind) {
        case hir::ExprKind::Assign:
        case hir::ExprKind::StatAdd:
        case hir::ExprKind::Call:
        case hir::ExprKind::Intrinsic:
        case hir::ExprKind::Print:
            repeatable = false;
            break;
        default:
            break;
        }
    });
    return repeatable;
}

bool mentions_defined(const ast::Expr& expr) {
    bool found = false;
    for_each_expr(expr, [&](const ast::Expr& e) { found = found || e.kind == ast::ExprKind::Defined; });
    return found;
}

} // namespace

hir::Expr* BodyBuilder::save_at_entry(hir::Expr* expr) {
    std::vector<hir::Expr*>& saved = handler_->entry_values;
    auto read = [&](size_t i) { return make<hir::EntryRead>(expr->range, expr->type, static_cast<uint32_t>(i)); };
    if (is_repeatable(*expr)) {
        std::string text = hir::dump_expr(*expr);
        for (size_t i = 0; i < saved.size(); i++)
            if (is_repeatable(*saved[i]) && hir::dump_expr(*saved[i]) == text)
                return read(i);
    }
    saved.push_back(expr);
    return read(saved.size() - 1);
}

Binder BodyBuilder::binder() {
    Binder binder{a_.arena_, a_.diags_, a_.env_,      [this](const ast::Expr& expr) { return build(expr); },
                  nullptr,   nullptr,   inside_entry_};
    // What @entry evaluates runs in a program of its own, without the locals.
    if (!inside_entry_)
        binder.hold = [this](const hir::Expr* expr) -> hir::Local* {
            if (is_repeatable(*expr))
                return nullptr;
            // A name that no script can write.
            hir::Local* local = declare(fmt::format("cast.{}", locals_.size()), expr->range);
            local->type = ValueType::Long;
            a_.assigned_.insert(local);
            a_.bound_.insert(local);
            return local;
        };
    if (point_ && point_->is_return && handler_)
        binder.at_entry = [this](hir::Expr* expr) { return save_at_entry(expr); };
    return binder;
}

hir::Expr* BodyBuilder::build_target(const ast::TargetExpr& expr, bool address) {
    // The kernel's types are the same everywhere.
    static const ResolvedPoint nowhere;
    bool kernels_type = expr.base == ast::TargetExpr::Cast && expr.module.starts_with("kernel");
    if (!point_ && !kernels_type) {
        a_.report_once(DiagId::Unsupported, expr.range,
                       fmt::format("`{}` in a function is not supported yet", ast::to_source(expr)))
            .help("pass it as an argument");
        return zero(expr.range);
    }
    Binder with = binder();
    const ResolvedPoint& point = point_ ? *point_ : nowhere;
    hir::Expr* bound = address ? bind_address_of(expr, point, with) : bind_target(expr, point, with);
    if (bound)
        return bound;
    if (target_type(expr) == ValueType::String && !address)
        return make<hir::ConstString>(expr.range, "");
    return zero(expr.range);
}

hir::Expr* BodyBuilder::build_address(const ast::AddressOfExpr& expr) {
    if (expr.operand->kind == ast::ExprKind::Target)
        return build_target(ast::as<ast::TargetExpr>(*expr.operand), true);
    a_.report_once(DiagId::Unsupported, expr.range,
                   fmt::format("cannot take the address of `{}`", ast::to_source(*expr.operand)))
        .help("`&` takes a `$variable` or `@cast` with members");
    return zero(expr.range);
}

hir::Expr* BodyBuilder::build_member(const ast::MemberExpr& expr) {
    if (expr.base->kind == ast::ExprKind::Target) {
        ast::TargetExpr whole = ast::as<ast::TargetExpr>(*expr.base);
        whole.range = expr.range;
        whole.components.insert(whole.components.end(), expr.components.begin(), expr.components.end());
        return build_target(whole, false);
    }
    a_.report_once(DiagId::Unsupported, expr.range,
                   fmt::format("`{}`: what a script value points at is not known", ast::to_source(expr)))
        .help(fmt::format("write @cast({}, \"struct name\")->member", ast::to_source(*expr.base)));
    return zero(expr.range);
}

hir::Expr* BodyBuilder::build_entry(const ast::EntryExpr& expr) {
    Binder with = binder();
    if (!with.at_entry) {
        a_.report_once(DiagId::WrongContext, expr.range, "`@entry` is for .return probes");
        return zero(expr.range);
    }
    if (inside_entry_) {
        a_.report_once(DiagId::WrongContext, expr.range, "`@entry` cannot stand in `@entry`");
        return zero(expr.range);
    }
    inside_entry_ = true;
    hir::Expr* value = build(*expr.operand);
    inside_entry_ = false;
    return with.at_entry(value);
}

hir::Expr* BodyBuilder::build_at(const ast::AtOperatorExpr& expr) {
    if (expr.name == "@choose_defined") {
        if (expr.args.size() == 2)
            return build(is_defined(*expr.args[0]) ? *expr.args[0] : *expr.args[1]);
        a_.report_once(DiagId::Arity, expr.range,
                       fmt::format("`@choose_defined` takes 2 arguments, not {}", expr.args.size()));
        return zero(expr.range);
    }
    static const std::vector<std::string> later = {"@perf",      "@enum",   "@enumname", "@const",     "@kregister",
                                                   "@uregister", "@kderef", "@uderef",   "@probewrite"};
    if (std::find(later.begin(), later.end(), expr.name) != later.end()) {
        a_.report_once(DiagId::Unsupported, expr.range, fmt::format("`{}` is not supported yet", expr.name));
        return zero(expr.range);
    }
    static const std::vector<std::string> operators = {
        "@defined", "@entry", "@cast",     "@var",      "@count",       "@sum",           "@min",
        "@max",     "@avg",   "@variance", "@hist_log", "@hist_linear", "@choose_defined"};
    a_.report_once(DiagId::UnknownOperator, expr.range, fmt::format("unknown operator `{}`", expr.name))
        .suggest(nearest_name(expr.name, operators));
    return zero(expr.range);
}

// Builds it without keeping anything of what that leaves behind.
bool BodyBuilder::is_defined(const ast::Expr& expr) {
    Diagnostics::Suppress quiet(a_.diags_);
    a_.trying_++;
    size_t entries = handler_ ? handler_->entry_values.size() : 0;
    size_t locals = locals_.size();
    build(expr);
    if (handler_)
        handler_->entry_values.resize(entries);
    while (locals_.size() > locals) {
        names_.erase(locals_.back()->name);
        locals_.pop_back();
    }
    a_.trying_--;
    return quiet.errors() == 0;
}

std::optional<bool> BodyBuilder::known(const ast::Expr& expr) {
    if (!mentions_defined(expr)) {
        if (expr.kind == ast::ExprKind::Number)
            return ast::as<ast::NumberExpr>(expr).value != 0;
        return std::nullopt;
    }
    if (expr.kind == ast::ExprKind::Defined)
        return is_defined(*ast::as<ast::DefinedExpr>(expr).operand);
    if (expr.kind == ast::ExprKind::Unary && ast::as<ast::UnaryExpr>(expr).op == ast::UnaryOp::Not) {
        std::optional<bool> value = known(*ast::as<ast::UnaryExpr>(expr).operand);
        return value ? std::optional(!*value) : std::nullopt;
    }
    if (expr.kind != ast::ExprKind::Binary)
        return std::nullopt;
    const auto& binary = ast::as<ast::BinaryExpr>(expr);
    if (binary.op != ast::BinaryOp::And && binary.op != ast::BinaryOp::Or)
        return std::nullopt;
    bool decisive = binary.op == ast::BinaryOp::Or;
    std::optional<bool> left = known(*binary.left);
    if (!left || *left == decisive)
        return left;
    return known(*binary.right);
}

} // namespace sonde
