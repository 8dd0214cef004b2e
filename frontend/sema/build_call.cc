// Builds calls: of functions of the script or the library, of primitives, and of the next function of the same name.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/ast/walk.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_target.h"
#include "frontend/sema/functions.h"
#include "frontend/sema/python_points.h"
#include "frontend/variables/recorded_values.h"

namespace sonde {

using hir::ValueType;

namespace {
// Passes the values that the callee needs from the probed function's entry as additional arguments.
void add_entry_values(Body& b, hir::Call& call, const Instance& callee) {
    for (hir::Expr* value : callee.entry_values)
        call.args.push_back(save_at_entry(b, value));
}
} // namespace

hir::Expr* build_call(Body& b, const ast::CallExpr& expr) {
    // In a handler for recorded events, a call that the recording's script has printed means its recorded value.
    if (b.point && b.point->recorded)
        if (const plan::RecordedValue* value = find_recorded_value(*b.point->recorded, ast::to_source(expr))) {
            Binder binder = make_binder(b, expr.range);
            return bind_recorded_value(binder, *value, expr.range);
        }
    std::vector<hir::Expr*> args;
    NamedFunction* entry = b.names.find_function(expr.name, expr.args.size(), b.file, expr.name_range);
    args.reserve(expr.args.size());
    for (const ast::Expr* arg : expr.args)
        args.push_back(build_expr(b, *arg));
    if (!entry)
        return b.zero(expr.range);
    return build_call_to(b, *entry, std::move(args), expr.name_range);
}

// A primitive becomes an Intrinsic. Another function becomes a Call of the version that all callers share, if possible.
// It is built separately for this probe point if its body uses the point, or if it is a function of the script and an
// argument is a typed pointer: `function f(p) { return p->x }` has another meaning for each type.
hir::Expr* build_call_to(Body& b, NamedFunction& entry, std::vector<hir::Expr*> args, Range range) {
    const ast::Function& function = *entry.ast;
    const Sources& sources = b.context.diags.sources();
    if (!b.context.options.guru && function.name.starts_with("set_user_") && sources.is_tapset(entry.file) &&
        !sources.is_tapset(b.file)) {
        b.context.report_once(DiagId::NeedsGuru, range, fmt::format("`{}` changes the traced program", function.name))
            .help("-g allows it");
        return b.zero(range);
    }
    if (!function.body) {
        if (const hir::Primitive* facts = hir::find_primitive(function.name); facts && facts->call_names)
            return b.make<hir::ConstString>(range, std::string(b.context.env.architecture->system_calls().names));
        else if (facts && facts->python_fact)
            return build_python_fact(b, hir::as<hir::ConstString>(*args[0]).value, range);
        else if (facts && facts->text == hir::PointText::Function && b.point && b.point->python) {
            Binder binder = make_binder(b, range);
            return build_python_name(b, binder, range);
        }
        ValueType result = function.result == ast::DeclaredType::Long     ? ValueType::Long
                           : function.result == ast::DeclaredType::String ? ValueType::String
                                                                          : ValueType::Void;
        auto* primitive = b.make<hir::Intrinsic>(range, function.name, result, std::move(args));
        primitive->gives_nothing = result == ValueType::Void;
        b.tables.primitives[primitive] = &function;
        return primitive;
    }
    // The body can depend on what the arguments point to, so their C types are part of the instance.
    std::vector<const Type*> types;
    bool typed = false;
    for (const hir::Expr* arg : args) {
        types.push_back(c_type_of(b.tables, *arg));
        typed = typed || types.back();
    }
    bool library = b.context.diags.sources().is_tapset(entry.file);
    if (!b.point || !(b.point_uses.of_function(entry).point || (typed && !library))) {
        hir::Function* callee = b.functions.instantiate(entry);
        return b.make<hir::Call>(range, callee, callee->result, std::move(args));
    }
    // If building the instance reports problems in library code, add where the script calls it.
    size_t said = b.context.diags.all().size();
    Instance& instance = b.functions.instantiate(entry, *b.point, *b.running(), b.inside_entry, std::move(types));
    if (!b.context.diags.sources().is_tapset(range.file))
        b.context.diags.note_in_library(said, range, fmt::format("`{}()` is called here", function.name));
    // A trial removes the instance, and its answer depends on the instance.
    b.needs_same_types() |= instance.function->needs_same_types;
    auto* made = b.make<hir::Call>(range, instance.function, instance.function->result, std::move(args));
    // A recursive call, made while the instance is being built. finish_open_calls() completes it.
    if (!instance.complete)
        instance.open_calls.push_back({made, b.function()});
    else
        add_entry_values(b, *made, instance);
    return made;
}

// Builds `next` in a function. Example: the script has two functions f(x). A call of f() means the first one, and
// `next` in this one is `return f__2(x)`. After the last one, `next` is a run-time error. If any function of the chain
// returns a value, `next` returns one, too.
hir::Stmt* build_next_overload(Body& b, Range range) {
    const std::string& name = b.entry->ast->name;
    size_t arity = b.entry->ast->params.size();
    b.names.pull_in_function(name);
    std::vector<NamedFunction*> chain = b.names.overloads(name, arity, b.file);
    auto here = std::find(chain.begin(), chain.end(), b.entry);
    auto* block = b.make<hir::Block>(range);
    if (here == chain.end() || here + 1 == chain.end()) {
        NamedFunction* error = b.names.find_function("error", 1, b.file, range);
        std::string message = fmt::format("all functions exhausted: `{}`", name);
        block->body.push_back(
            b.make<hir::ExprStmt>(range, build_call_to(b, *error, {b.make<hir::ConstString>(range, message)}, range)));
        return block;
    }
    std::vector<hir::Expr*> args;
    for (size_t i = 0; i < arity; i++) {
        b.tables.read.insert(b.function()->params[i]);
        args.push_back(b.make<hir::LocalRef>(range, b.function()->params[i]));
    }
    hir::Expr* value = build_call_to(b, **(here + 1), std::move(args), range);
    auto gives_value = [](const ast::Function& function) {
        bool gives = function.result != ast::DeclaredType::None;
        if (function.body)
            for_each_stmt(*function.body, [&](const ast::Stmt& stmt) {
                gives = gives || (stmt.kind == ast::StmtKind::Return && ast::as<ast::ReturnStmt>(stmt).value);
            });
        return gives;
    };
    bool gives =
        std::any_of(chain.begin(), chain.end(), [&](const NamedFunction* entry) { return gives_value(*entry->ast); });
    (gives ? b.returns_value : b.returns_nothing) = true;
    if (!gives)
        block->body.push_back(b.make<hir::ExprStmt>(range, value));
    block->body.push_back(b.make<hir::Return>(range, gives ? value : nullptr));
    return block;
}

} // namespace sonde
