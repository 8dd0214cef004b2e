// Builds everything that depends on the probe point: `$variables`, @entry, @defined and the other @operators.
//
// `@entry(e)` in a return probe is evaluated by a second program at the function's entry. The expression is moved into
// the list of entry values, and the handler reads it by its index. The value is stored under the thread and the call,
// so a recursive function works. Locals of the handler do not exist at the entry, so they are errors there.
//
// `@defined(e)` is answered by building `e` and counting the errors. The result is thrown away, together with
// everything that building has added to the body. Only needs_same_types() stays, because the answer depends on these
// types. When you add a list to Body or SideTables, check whether is_defined() must restore it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/identity.h"
#include "frontend/hir/walk.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_target.h"
#include "frontend/sema/functions.h"
#include "frontend/sema/python_points.h"
#include "frontend/variables/located.h"
#include "runtime/plan/kinds.h"

namespace sonde {

using hir::ValueType;

namespace {

// Whether evaluating the expression twice has the same effect as evaluating it once.
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

// Conditions without @defined are never decided here: `if (0)` keeps its dead branch, so that its errors are reported.
bool mentions_defined(const ast::Expr& expr) {
    bool found = false;
    for_each_expr(expr, [&](const ast::Expr& e) { found = found || e.kind == ast::ExprKind::Defined; });
    return found;
}

// Builds a read of entry_values()[index] in this body.
hir::Expr* entry_value(Body& b, size_t index, const hir::Expr& saved) {
    hir::Expr* value = nullptr;
    if (!b.instance) {
        value = b.make<hir::EntryRead>(saved.range, saved.type, static_cast<uint32_t>(index));
    } else {
        // In a function, the caller passes the value as an additional parameter.
        hir::Local* param = b.declare(fmt::format("entry.{}", index), saved.range);
        if (std::find(b.function()->params.begin(), b.function()->params.end(), param) == b.function()->params.end()) {
            b.function()->params.push_back(param);
            b.tables.assigned.insert(param);
            b.tables.bound.insert(param);
        }
        b.tables.read.insert(param);
        value = b.make<hir::LocalRef>(saved.range, param);
    }
    if (const Type* type = c_type_of(b.tables, saved))
        b.tables.c_types[value] = type;
    return value;
}
} // namespace

// The same expression is saved only once, because each saved value takes space in a map for each call that is under
// way. Expressions with side effects are always saved separately.
hir::Expr* save_at_entry(Body& b, hir::Expr* expr) {
    std::vector<hir::Expr*>& saved = b.entry_values();
    if (is_repeatable(*expr)) {
        std::string key = hir::identity(*expr);
        for (size_t i = 0; i < saved.size(); i++)
            if (is_repeatable(*saved[i]) && hir::identity(*saved[i]) == key)
                return entry_value(b, i, *expr);
    }
    saved.push_back(expr);
    return entry_value(b, saved.size() - 1, *expr);
}

// frontend/variables creates HIR for `$variables`, but it must not depend on sema. So it gets these callbacks, for
// example to build an index expression, to save a value at the entry, or to call a function of the library.
Binder make_binder(Body& b, Range expr_range) {
    Binder binder{
        b.context.arena, b.context.diags, b.context.env, [&b](const ast::Expr& expr) { return build_expr(b, expr); },
        nullptr,         nullptr,         b.inside_entry};
    // An @entry expression runs in a separate program, where the handler's locals do not exist.
    if (!b.inside_entry || b.function())
        binder.hold = [&b](const hir::Expr* expr) -> hir::Local* {
            if (is_repeatable(*expr))
                return nullptr;
            return b.declare_hidden("cast", expr->range);
        };
    if (b.point->is_return)
        binder.at_entry = [&b](hir::Expr* expr) { return save_at_entry(b, expr); };
    binder.call = [&b, range = expr_range](const char* name, std::vector<hir::Expr*> args) -> hir::Expr* {
        NamedFunction* entry = b.names.find_function(name, args.size(), b.file, range);
        return entry ? build_call_to(b, *entry, std::move(args), range) : nullptr;
    };
    binder.define = [&b](hir::Function& function) { return b.functions.define(function); };
    binder.call_texts = &b.tables.call_texts;
    binder.symbol_address = [&b, expr_range](const std::string& symbol) {
        return b.functions.symbol_address(symbol, expr_range);
    };
    binder.module = [&b](const std::string& path) { return b.context.env.module(path); };
    binder.c_type_of = [&b](const hir::Expr& expr) { return c_type_of(b.tables, expr); };
    binder.record_c_type = [&b](const hir::Expr* expr, const Type* type) {
        const Type* plain = strip(type);
        if (plain && (plain->kind == Type::Pointer || plain->kind == Type::Array || plain->kind == Type::Enum))
            b.tables.c_types[expr] = type;
    };
    return binder;
}

hir::Expr* build_callers(Body& b, Range range) {
    Binder with = make_binder(b, range);
    return b.point ? bind_callers(*b.point, range, with) : nullptr;
}

namespace {
// Builds `@var` in a .return handler the way old versions of SystemTap did: the value at the function's entry.
hir::Expr* build_var_at_entry(Body& b, const ast::TargetExpr& expr) {
    const std::string module = !expr.module.empty() ? expr.module
                               : b.point->module    ? b.point->module->path()
                                                    : "kernel";
    b.context
        .report_once(DiagId::ValueAtEntry, expr.range,
                     fmt::format("confusing usage, value is captured as @entry(@var(\"{}\", \"{}\")) in .return probe "
                                 "[man stapprobes] RETURN PROBES",
                                 expr.name, module))
        .help("since SystemTap 4.1 it is the value at the return; write `@entry(...)` for the one at the entry");
    Binder with = make_binder(b, expr.range);
    b.inside_entry = true;
    hir::Expr* value = build_target(b, expr, false);
    b.inside_entry = false;
    return with.at_entry(value);
}
} // namespace

// If the variable does not exist, an error has been reported, and the expression becomes 0 or "". With --skip-badvars,
// the error is dropped.
hir::Expr* build_target(Body& b, const ast::TargetExpr& expr, bool address) {
    Binder with = make_binder(b, expr.range);
    if (b.context.var_at_entry && expr.base == ast::TargetExpr::Var && with.at_entry && !b.inside_entry &&
        !b.function() && !address && target_type(expr) == ValueType::Long &&
        !b.context.diags.sources().is_tapset(b.file))
        return build_var_at_entry(b, expr);
    std::optional<Diagnostics::Suppress> quiet;
    if (b.context.options.skip_bad_variables && !b.context.trying) // @defined counts the errors
        quiet.emplace(b.context.diags);
    Bound bound = address ? bind_address_of(expr, *b.point, with) : bind_target(expr, *b.point, with);
    b.needs_same_types() |= bound.needs_same_types;
    if (bound.expr)
        return bound.expr;
    if (target_type(expr) == ValueType::String && !address)
        return b.make<hir::ConstString>(expr.range, "");
    return b.zero(expr.range);
}

hir::Expr* build_store(Body& b, const ast::Expr& target, const TargetAssignment& assignment) {
    if (!b.context.options.guru) {
        b.context
            .report_once(DiagId::NeedsGuru, target.range,
                         fmt::format("writing to `{}` changes the traced program", ast::to_source(target)))
            .help("-g allows it");
        return assignment.value;
    }
    ast::TargetExpr whole = target.kind == ast::ExprKind::Member ? as_target(ast::as<ast::MemberExpr>(target))
                                                                 : ast::as<ast::TargetExpr>(target);
    Binder with = make_binder(b, target.range);
    std::optional<Diagnostics::Suppress> quiet;
    if (b.context.options.skip_bad_variables && !b.context.trying) // @defined counts the errors
        quiet.emplace(b.context.diags);
    Bound written = bind_store(whole, assignment, *b.point, with);
    b.needs_same_types() |= written.needs_same_types;
    return written.expr ? written.expr : assignment.value;
}

// `&` can only be applied to something in the traced program's memory.
hir::Expr* build_address(Body& b, const ast::AddressOfExpr& expr) {
    if (expr.operand->kind == ast::ExprKind::Target)
        return build_target(b, ast::as<ast::TargetExpr>(*expr.operand), true);
    if (expr.operand->kind == ast::ExprKind::Member)
        return build_target(b, as_target(ast::as<ast::MemberExpr>(*expr.operand)), true);
    b.context
        .report_once(DiagId::Unsupported, expr.range,
                     fmt::format("cannot take the address of `{}`", ast::to_source(*expr.operand)))
        .help("`&` takes a `$variable`, `@cast` or typed pointer with members");
    return b.zero(expr.range);
}

ast::TargetExpr as_target(const ast::MemberExpr& expr) {
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

hir::Expr* build_entry(Body& b, const ast::EntryExpr& expr) {
    Binder with = make_binder(b, expr.range);
    // A handler that runs instead of its function runs at the entry.
    if (b.point && plan::traits(b.point->kind).decision == plan::Decision::Result)
        return build_expr(b, *expr.operand);
    if (b.point && b.point->python && b.point->python->event != PythonPoint::Call && !b.inside_entry)
        return build_python_entry(b, with, expr);
    if (!with.at_entry) {
        b.context.report_once(DiagId::WrongContext, expr.range, "`@entry` can be used only in .return probes");
        return b.zero(expr.range);
    }
    if (b.inside_entry) {
        b.context.report_once(DiagId::WrongContext, expr.range, "`@entry` cannot be nested in `@entry`");
        return b.zero(expr.range);
    }
    b.inside_entry = true;
    hir::Expr* value = build_expr(b, *expr.operand);
    b.inside_entry = false;
    return with.at_entry(value);
}

// Builds the expression as a trial, and removes everything that building has added.
bool is_defined(Body& b, const ast::Expr& expr) {
    Diagnostics::Suppress quiet(b.context.diags);
    b.context.trying++;
    // Building may add entry values, locals and function instances. All are removed again, so that a trial does not
    // cost anything at run time.
    size_t entries = b.entry_values().size(), locals = b.locals.size(), instances = b.functions.instance_count();
    if (expr.kind == ast::ExprKind::Target && b.point) {
        Binder with = make_binder(b, expr.range);
        b.needs_same_types() |= find_located(ast::as<ast::TargetExpr>(expr), *b.point, with).needs_same_types;
    } else {
        build_expr(b, expr);
    }
    b.entry_values().resize(entries);
    while (b.locals.size() > locals) {
        if (b.function())
            std::erase(b.function()->params, b.locals.back());
        b.locals_by_name.erase(b.locals.back()->name);
        b.locals.pop_back();
    }
    b.functions.drop_instances_after(instances);
    b.context.trying--;
    return quiet.errors() == 0;
}

// Evaluates `!`, `&&` and `||` over @defined(...) and numbers. For example, in `@defined($x) && $x > 1` the left side
// is known, but the result is known only if $x does not exist.
std::optional<bool> known_value(Body& b, const ast::Expr& expr) {
    if (!mentions_defined(expr)) {
        if (expr.kind == ast::ExprKind::Number)
            return ast::as<ast::NumberExpr>(expr).value != 0;
        return std::nullopt;
    }
    if (expr.kind == ast::ExprKind::Defined)
        return is_defined(b, *ast::as<ast::DefinedExpr>(expr).operand);
    if (expr.kind == ast::ExprKind::Unary && ast::as<ast::UnaryExpr>(expr).op == ast::UnaryOp::Not) {
        std::optional<bool> value = known_value(b, *ast::as<ast::UnaryExpr>(expr).operand);
        return value ? std::optional(!*value) : std::nullopt;
    }
    if (expr.kind != ast::ExprKind::Binary)
        return std::nullopt;
    const auto& binary = ast::as<ast::BinaryExpr>(expr);
    if (binary.op != ast::BinaryOp::And && binary.op != ast::BinaryOp::Or)
        return std::nullopt;
    bool decisive = binary.op == ast::BinaryOp::Or;
    std::optional<bool> left = known_value(b, *binary.left);
    if (!left || *left == decisive)
        return left;
    return known_value(b, *binary.right);
}

} // namespace sonde
