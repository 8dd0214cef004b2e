// What depends on the probe point: `$variables`, @entry, @defined and the other @operators.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/identity.h"
#include "frontend/hir/walk.h"
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
        case hir::ExprKind::Store:
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

hir::Expr* BodyBuilder::entry_value(size_t index, const hir::Expr& saved) {
    hir::Expr* value = nullptr;
    if (!instance_) {
        value = make<hir::EntryRead>(saved.range, saved.type, static_cast<uint32_t>(index));
    } else {
        // The caller knows it.
        hir::Local* param = declare(fmt::format("entry.{}", index), saved.range);
        if (std::find(function_->params.begin(), function_->params.end(), param) == function_->params.end()) {
            function_->params.push_back(param);
            notes_.assigned.insert(param);
            notes_.bound.insert(param);
        }
        notes_.read.insert(param);
        value = make<hir::LocalRef>(saved.range, param);
    }
    if (const Type* type = c_type_of(notes_, saved))
        notes_.c_types[value] = type;
    return value;
}

hir::Expr* BodyBuilder::save_at_entry(hir::Expr* expr) {
    std::vector<hir::Expr*>& saved = entry_values();
    if (is_repeatable(*expr)) {
        std::string key = hir::identity(*expr);
        for (size_t i = 0; i < saved.size(); i++)
            if (is_repeatable(*saved[i]) && hir::identity(*saved[i]) == key)
                return entry_value(i, *expr);
    }
    saved.push_back(expr);
    return entry_value(saved.size() - 1, *expr);
}

hir::Local* BodyBuilder::hidden(const char* what, Range range) {
    hir::Local* local = declare(fmt::format("{}.{}", what, locals_.size()), range);
    local->type = ValueType::Long;
    notes_.assigned.insert(local);
    notes_.bound.insert(local);
    return local;
}

Binder BodyBuilder::binder(Range expr_range) {
    Binder binder{c_.arena, c_.diags, c_.env,       [this](const ast::Expr& expr) { return build(expr); },
                  nullptr,  nullptr,  inside_entry_};
    // What @entry evaluates runs in a program of its own, without the handler's locals.
    if (!inside_entry_ || function_)
        binder.hold = [this](const hir::Expr* expr) -> hir::Local* {
            if (is_repeatable(*expr))
                return nullptr;
            return hidden("cast", expr->range);
        };
    if (point_->is_return)
        binder.at_entry = [this](hir::Expr* expr) { return save_at_entry(expr); };
    binder.call = [this, range = expr_range](const char* name, std::vector<hir::Expr*> args) -> hir::Expr* {
        FunctionEntry* entry = known_.find_function(name, args.size(), file_, range);
        return entry ? call(*entry, std::move(args), range) : nullptr;
    };
    binder.define = [this](hir::Function& function) { return in_.functions.define(function); };
    binder.symbol_address = [this, expr_range](const std::string& symbol) {
        return in_.functions.symbol_address(symbol, expr_range);
    };
    binder.module = [this](const std::string& path) { return c_.env.module(path); };
    binder.c_type_of = [this](const hir::Expr& expr) { return c_type_of(notes_, expr); };
    binder.note_c_type = [this](const hir::Expr* expr, const Type* type) {
        const Type* plain = strip(type);
        if (plain && (plain->kind == Type::Pointer || plain->kind == Type::Array || plain->kind == Type::Enum))
            notes_.c_types[expr] = type;
    };
    return binder;
}

hir::Expr* BodyBuilder::build_callers(Range range) {
    Binder with = binder(range);
    return point_ ? bind_callers(*point_, range, with) : nullptr;
}

// `@var` of older scripts in a .return handler.
hir::Expr* BodyBuilder::build_var_at_entry(const ast::TargetExpr& expr) {
    const std::string module = !expr.module.empty() ? expr.module : point_->module ? point_->module->path() : "kernel";
    c_.report_once(DiagId::ValueAtEntry, expr.range,
                   fmt::format("confusing usage, value is captured as @entry(@var(\"{}\", \"{}\")) in .return probe "
                               "[man stapprobes] RETURN PROBES",
                               expr.name, module))
        .help("since SystemTap 4.1 it is the value at the return; write `@entry(...)` for the one at the entry");
    Binder with = binder(expr.range);
    inside_entry_ = true;
    hir::Expr* value = build_target(expr, false);
    inside_entry_ = false;
    return with.at_entry(value);
}

hir::Expr* BodyBuilder::build_target(const ast::TargetExpr& expr, bool address) {
    Binder with = binder(expr.range);
    if (c_.options.var_at_entry && expr.base == ast::TargetExpr::Var && with.at_entry && !inside_entry_ && !function_ &&
        !address && target_type(expr) == ValueType::Long && !c_.diags.sources().is_tapset(file_))
        return build_var_at_entry(expr);
    std::optional<Diagnostics::Suppress> quiet;
    if (c_.options.skip_bad_variables)
        quiet.emplace(c_.diags);
    hir::Expr* bound = address ? bind_address_of(expr, *point_, with) : bind_target(expr, *point_, with);
    if (bound)
        return bound;
    if (target_type(expr) == ValueType::String && !address)
        return make<hir::ConstString>(expr.range, "");
    return zero(expr.range);
}

hir::Expr* BodyBuilder::build_store(const ast::Expr& target, const Assignment& assignment) {
    if (!c_.options.guru) {
        c_.report_once(DiagId::NeedsGuru, target.range,
                       fmt::format("writing to `{}` changes the traced program", ast::to_source(target)))
            .help("-g allows it");
        return assignment.value;
    }
    ast::TargetExpr whole = target.kind == ast::ExprKind::Member ? as_target(ast::as<ast::MemberExpr>(target))
                                                                 : ast::as<ast::TargetExpr>(target);
    Binder with = binder(target.range);
    std::optional<Diagnostics::Suppress> quiet;
    if (c_.options.skip_bad_variables)
        quiet.emplace(c_.diags);
    hir::Expr* written = bind_store(whole, assignment, *point_, with);
    return written ? written : assignment.value;
}

hir::Expr* BodyBuilder::build_address(const ast::AddressOfExpr& expr) {
    if (expr.operand->kind == ast::ExprKind::Target)
        return build_target(ast::as<ast::TargetExpr>(*expr.operand), true);
    if (expr.operand->kind == ast::ExprKind::Member)
        return build_target(as_target(ast::as<ast::MemberExpr>(*expr.operand)), true);
    c_.report_once(DiagId::Unsupported, expr.range,
                   fmt::format("cannot take the address of `{}`", ast::to_source(*expr.operand)))
        .help("`&` takes a `$variable`, `@cast` or typed pointer with members");
    return zero(expr.range);
}

ast::TargetExpr BodyBuilder::as_target(const ast::MemberExpr& expr) {
    ast::TargetExpr whole(expr.range);
    if (expr.base->kind == ast::ExprKind::Target) {
        whole = ast::as<ast::TargetExpr>(*expr.base);
        whole.range = expr.range;
    } else {
        whole.base = ast::TargetExpr::Value;
        whole.operand = expr.base;
    }
    whole.components.insert(whole.components.end(), expr.components.begin(), expr.components.end());
    return whole;
}

hir::Expr* BodyBuilder::build_entry(const ast::EntryExpr& expr) {
    Binder with = binder(expr.range);
    if (!with.at_entry) {
        c_.report_once(DiagId::WrongContext, expr.range, "`@entry` is for .return probes");
        return zero(expr.range);
    }
    if (inside_entry_) {
        c_.report_once(DiagId::WrongContext, expr.range, "`@entry` cannot stand in `@entry`");
        return zero(expr.range);
    }
    inside_entry_ = true;
    hir::Expr* value = build(*expr.operand);
    inside_entry_ = false;
    return with.at_entry(value);
}

// Builds it without keeping anything of what that leaves behind.
bool BodyBuilder::is_defined(const ast::Expr& expr) {
    Diagnostics::Suppress quiet(c_.diags);
    c_.trying++;
    size_t entries = entry_values().size(), locals = locals_.size(), instances = in_.functions.instance_count();
    build(expr);
    entry_values().resize(entries);
    while (locals_.size() > locals) {
        if (function_)
            std::erase(function_->params, locals_.back());
        names_.erase(locals_.back()->name);
        locals_.pop_back();
    }
    in_.functions.drop_instances_after(instances);
    c_.trying--;
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
