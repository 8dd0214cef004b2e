// Converts names and array elements to HIR.
//
// The language has no declarations of locals: the first use of a name that is not a global declares it. A misspelt name
// is therefore a new variable. The error comes later, when the name is read but never assigned (infer.cc).
//
// A local hides a global of the same name only if it exists already, for example as a parameter. Names of the library
// are visible only in the library (Body::file).
#include "frontend/sema/build_name.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/sema/build_expr.h"

namespace sonde {

using hir::ValueType;

namespace {
// Reports a local of the handler in an `@entry` expression, and returns whether it did. The expression runs when the
// probed function begins, in a separate program without the handler's locals. (A function that the expression calls has
// its own locals.)
bool refuse_in_entry(Body& b, const std::string& name, Range range) {
    if (!b.inside_entry || (b.instance && b.instance->inside_entry))
        return false;
    const hir::Local* local = b.find_local(name);
    auto error = b.context.report_once(
        DiagId::WrongContext, range,
        fmt::format("`{}` in `@entry` is a local variable, which does not exist when the call begins", name));
    if (local && b.context.diags.sources().is_tapset(local->range.file))
        error.help(
            fmt::format("write `{}` without `@entry`: the library keeps its value from the call's beginning", name));
    else
        error.help("use `$variables`, globals and function calls in `@entry`");
    return true;
}
} // namespace

hir::Expr* build_name(Body& b, const ast::NameExpr& expr) {
    hir::Local* local = b.find_local(expr.name);
    if (!local)
        if (hir::Global* global = b.find_global(expr.name)) {
            if (!b.names.use_as(*global, Shape::Scalar, expr.range))
                return b.zero(expr.range);
            return b.make<hir::GlobalRef>(expr.range, global);
        }
    if (refuse_in_entry(b, expr.name, expr.range))
        return b.zero(expr.range);
    // Reading a name declares it. If nothing ever assigns it, a later phase reports "never assigned".
    if (!local)
        local = b.declare(expr.name, expr.range);
    b.tables.read.insert(local);
    return b.make<hir::LocalRef>(expr.range, local);
}

hir::Expr* build_index(Body& b, const ast::IndexExpr& expr) {
    hir::Global* global = find_array(b, expr.name, expr.name_range);
    if (!global)
        return b.zero(expr.range);
    return b.make<hir::Element>(expr.name_range, global, build_keys(b, expr.keys, false, *global, expr.range));
}

hir::Global* find_array(Body& b, const std::string& name, Range range) {
    if (hir::Local* local = b.find_local(name)) {
        b.context
            .report_once(DiagId::TypeMismatch, range,
                         fmt::format("`{}` is a local variable, and arrays are global", name))
            .note(local->range, "first used here")
            .help(fmt::format("declare `global {}`", name));
        return nullptr;
    }
    hir::Global* global = b.find_global(name);
    if (!global) {
        b.context.report_once(DiagId::TypeMismatch, range, fmt::format("the script has no global array `{}`", name))
            .suggest(nearest_name(name, b.names.global_names()))
            .help(fmt::format("declare `global {}`", name));
        return nullptr;
    }
    return b.names.use_as(*global, Shape::Array, range) ? global : nullptr;
}

bool check_key_count(Body& b, hir::Global& array, size_t count, Range range) {
    constexpr size_t most_keys = 9;
    if (count > most_keys) {
        b.context.report_once(DiagId::Arity, range,
                              fmt::format("an array has at most {} keys, not {}", most_keys, count));
        return false;
    }
    if (array.keys.empty()) {
        array.keys.assign(count, ValueType::Unknown);
        b.tables.fixed_at.try_emplace(&array.keys, range);
    }
    if (array.keys.size() == count)
        return true;
    b.context
        .report_once(DiagId::Arity, range,
                     fmt::format("array `{}` has {} key{}, not {}", array.name, array.keys.size(),
                                 array.keys.size() == 1 ? "" : "s", count))
        .note(b.tables.fixed_at[&array.keys], "used with that many keys here");
    return false;
}

std::vector<hir::Expr*> build_keys(Body& b, const std::vector<ast::Expr*>& keys, bool wildcards, hir::Global& array,
                                   Range range) {
    std::vector<hir::Expr*> out;
    out.reserve(keys.size());
    for (const ast::Expr* key : keys)
        out.push_back(key->kind == ast::ExprKind::Wildcard && wildcards ? nullptr : build_expr(b, *key));
    if (!check_key_count(b, array, keys.size(), range))
        out.resize(array.keys.size(), b.zero(range));
    return out;
}

hir::Expr* build_lvalue(Body& b, const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::Name) {
        const std::string& name = ast::as<ast::NameExpr>(expr).name;
        if (!b.find_local(name))
            if (hir::Global* global = b.find_global(name)) {
                if (!b.names.use_as(*global, Shape::Scalar, expr.range))
                    return nullptr;
                return b.make<hir::GlobalRef>(expr.range, global);
            }
        if (refuse_in_entry(b, name, expr.range))
            return nullptr;
        hir::Local* local = b.declare(name, expr.range);
        b.tables.assigned.insert(local);
        return b.make<hir::LocalRef>(expr.range, local);
    }
    if (expr.kind == ast::ExprKind::Index) {
        hir::Expr* element = build_expr(b, expr);
        return element->kind == hir::ExprKind::Element ? element : nullptr;
    }
    b.context.report_once(DiagId::NotAssignable, expr.range, fmt::format("cannot assign to `{}`", ast::to_source(expr)))
        .help("you can assign to variables, globals and array elements");
    return nullptr;
}

} // namespace sonde
