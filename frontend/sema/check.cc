// Checks that need types and complete bodies.
//
// They follow calls, because a rule that a function breaks is broken by its caller: a loop over an array may call a
// function that deletes an element. Each function is visited once (`seen`), so recursive functions terminate.
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "frontend/hir/walk.h"
#include "frontend/sema/phases.h"

namespace sonde {

namespace {

// A place where a body changes an array, directly or by calling a function.
struct Change {
    Range range;
    Range inside; // the place in the called function; invalid if the body itself changes the array
};

// Finds all changes of the array in a body, including those in functions that it calls.
void find_changes(const hir::Stmt& body, const hir::Global& array, std::set<const hir::Function*>& seen,
                  std::vector<Change>& out) {
    using namespace hir;
    for_each_stmt(body, [&](const Stmt& stmt) {
        if (stmt.kind == StmtKind::Delete && as<Delete>(stmt).global == &array)
            out.push_back({stmt.range, {}});
    });
    for_each_expr(body, [&](const Expr& expr) {
        const Expr* target = expr.kind == ExprKind::Assign    ? as<Assign>(expr).target
                             : expr.kind == ExprKind::StatAdd ? as<StatAdd>(expr).target
                                                              : nullptr;
        if (target && global_of(*target) == &array)
            out.push_back({expr.range, {}});
        if (expr.kind != ExprKind::Call || !seen.insert(as<Call>(expr).callee).second)
            return;
        std::vector<Change> inner;
        find_changes(*as<Call>(expr).callee->body, array, seen, inner);
        if (!inner.empty())
            out.push_back({expr.range, inner[0].inside.valid() ? inner[0].inside : inner[0].range});
    });
}

// Whether running the statement has an effect that can be observed: output, a change of a global, or a primitive with
// an effect.
bool has_effect(const hir::Stmt& body, std::set<const hir::Function*>& seen) {
    using namespace hir;
    bool effect = false;
    for_each_stmt(body, [&](const Stmt& stmt) { effect = effect || stmt.kind == StmtKind::Delete; });
    for_each_expr(body, [&](const Expr& expr) {
        if (effect)
            return;
        switch (expr.kind) {
        case ExprKind::Assign:
            effect = global_of(*as<Assign>(expr).target) != nullptr;
            break;
        case ExprKind::StatAdd:
        case ExprKind::Store:
            effect = true;
            break;
        case ExprKind::Print:
            effect = !as<Print>(expr).to_string;
            break;
        case ExprKind::Intrinsic: {
            effect =
                as<Intrinsic>(expr).gives_nothing || expr.type == ValueType::Void || as<Intrinsic>(expr).facts.changes;
            break;
        }
        case ExprKind::Call:
            if (seen.insert(as<Call>(expr).callee).second)
                effect = (as<Call>(expr).callee->c_code.range.valid() && !as<Call>(expr).callee->c_pure) ||
                         has_effect(*as<Call>(expr).callee->body, seen);
            break;
        default:
            break;
        }
    });
    return effect;
}

} // namespace

// Recording groups costs time, so regular expressions record them only if the script asks for groups (matched()). Equal
// expressions share one automaton.
void compile_regexes(const SideTables& tables, SemaContext& context) {
    bool captures = std::any_of(tables.primitives.begin(), tables.primitives.end(), [](const auto& entry) {
        const hir::Primitive* primitive = hir::find_primitive(entry.first->name);
        return primitive && primitive->needs_groups;
    });
    std::map<std::pair<std::string, bool>, std::shared_ptr<const regex::Program>> compiled;
    for (auto [expr, range] : tables.regexes) {
        bool with_groups = captures && !expr->negated;
        std::shared_ptr<const regex::Program>& program = compiled[{expr->text, with_groups}];
        if (!program) {
            regex::Problem problem;
            std::optional<regex::Program> made = regex::compile(expr->pattern, with_groups, problem);
            if (!made)
                context.report_once(DiagId::BadRegex, range, problem.message);
            program = std::make_shared<const regex::Program>(made ? std::move(*made) : regex::Program());
        }
        expr->program = program;
    }
}

// SystemTap forbids such changes, too: the elements that the loop would visit are undefined.
void check_foreach(const hir::Program& program, const SideTables& tables, SemaContext& context) {
    auto check = [&](const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind != hir::StmtKind::Foreach || !hir::as<hir::Foreach>(stmt).array)
                return;
            const auto& loop = hir::as<hir::Foreach>(stmt);
            std::set<const hir::Function*> seen;
            std::vector<Change> changes;
            find_changes(*loop.body, *loop.array, seen, changes);
            Range head = loop.range;
            if (loop.body->range.file == head.file && loop.body->range.begin > head.begin)
                head.end = loop.body->range.begin;
            while (head.end > head.begin && std::isspace(context.diags.sources().text(head).back()))
                head.end--;
            for (const Change& change : changes) {
                DiagBuilder report =
                    context.report_once(DiagId::ModifiedInForeach, change.range,
                                        fmt::format("array `{}` is changed inside a loop over it", loop.array->name));
                if (change.inside.valid())
                    report.note(change.inside, "the function changes it here");
                report.note(head, "the loop").help("gather the keys first, and change the array after the loop");
            }
        });
    };
    for (const hir::Function* function : program.functions)
        check(*function->body);
    for (const auto* handlers : {&program.handlers, &tables.never_handlers})
        for (const hir::Handler* handler : *handlers)
            check(*handler->body);
}

void check_side_effects(const hir::Program& program, const SideTables& tables, SemaContext& context) {
    if (context.options.unoptimized || context.options.tells_hits)
        return;
    // A probe may have several handlers, and some may do nothing: `if (@defined($x)) ...`. Warn only if all do nothing.
    const auto place = [&](const hir::Handler* handler) {
        const Range& head = tables.heads.at(handler);
        return std::tuple(head.file, head.begin, head.end);
    };
    std::set<decltype(place(nullptr))> effective;
    std::vector<const hir::Handler*> idle;
    for (const hir::Handler* handler : program.handlers) {
        std::set<const hir::Function*> seen;
        if (has_effect(*handler->body, seen))
            effective.insert(place(handler));
        else
            idle.push_back(handler);
    }
    for (const hir::Handler* handler : idle)
        if (!effective.contains(place(handler)))
            context.report_once(DiagId::SideEffectFree, tables.heads.at(handler), "this probe's handler does nothing");
}

} // namespace sonde
