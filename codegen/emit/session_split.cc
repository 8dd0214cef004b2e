// Splits a `.return` handler into its work at the entry and at the return.
//
// If the script filters by an argument, most calls need no work at their return:
//
//     probe process("x").function("read").return { if ($fd != 3) next; bytes += $return }
//
// `$fd` is a value from the entry. So the condition is evaluated there, and the program tells the kernel to skip the
// return. split_for_session() finds such conditions at the beginning of the body, in both forms: `if (c) next;` and `if
// (c) { all the rest }`.
//
// A condition can move to the entry only if it has the same value there: it must consist of entry values and constants,
// and must not raise an error. A condition with a global stays at the return, because the global can change during the
// call.
//
// A link that also runs at the entry costs more for calls that are wanted. So it is used only if entry values must be
// saved anyway, or if other processes call the function, too.
#include "codegen/emit/session_split.h"
#include "frontend/hir/walk.h"
#include "runtime/plan/kinds.h"

#include <algorithm>
#include <set>

namespace sonde {
namespace {

// Whether the expression depends only on values from the function's entry, and cannot fail. All others are evaluated at
// the return: globals can change, and after fork() the process is another one.
bool known_at_entry(const hir::Expr& expr) {
    bool known = true, reads = false;
    for_each_expr(expr, [&](const hir::Expr& part) {
        switch (part.kind) {
        case hir::ExprKind::ConstLong:
        case hir::ExprKind::ConstString:
        case hir::ExprKind::Unary:
        case hir::ExprKind::Logical:
        case hir::ExprKind::Retype:
            break;
        case hir::ExprKind::EntryRead:
            reads = true;
            break;
        case hir::ExprKind::Binary: {
            hir::BinaryOp op = hir::as<hir::Binary>(part).op;
            known = known && op != hir::BinaryOp::Div && op != hir::BinaryOp::Mod;
            break;
        }
        default:
            known = false;
        }
    });
    return known && reads;
}

void split_conjunction(const hir::Expr& expr, std::vector<Requirement>& out) {
    if (expr.kind != hir::ExprKind::Logical || !hir::as<hir::Logical>(expr).is_and) {
        out.push_back({&expr});
        return;
    }
    split_conjunction(*hir::as<hir::Logical>(expr).left, out);
    split_conjunction(*hir::as<hir::Logical>(expr).right, out);
}

bool is_next(const hir::Stmt& stmt) {
    if (stmt.kind != hir::StmtKind::Block)
        return stmt.kind == hir::StmtKind::Next;
    const auto& body = hir::as<hir::Block>(stmt).body;
    return body.size() == 1 && is_next(*body[0]);
}

std::vector<const hir::Stmt*> statements_of(const hir::Stmt& stmt) {
    if (stmt.kind != hir::StmtKind::Block)
        return {&stmt};
    const auto& body = hir::as<hir::Block>(stmt).body;
    return {body.begin(), body.end()};
}

// Removes a condition from the body: `if (c) next` before the rest, or `if (c) { rest }`. Returns false if the body
// begins with neither, or if the entry cannot evaluate `c`.
bool peel_condition(SessionSplit& split) {
    while (split.body.size() == 1 && split.body[0]->kind == hir::StmtKind::Block)
        split.body = statements_of(*split.body[0]);
    if (split.body.empty() || split.body[0]->kind != hir::StmtKind::If)
        return false;
    const auto& first = hir::as<hir::If>(*split.body[0]);
    if (first.else_body)
        return false;
    if (is_next(*first.then_body)) {
        if (!known_at_entry(*first.condition))
            return false;
        split.at_entry.push_back({first.condition, true});
        split.body.erase(split.body.begin());
        return true;
    }
    std::vector<Requirement> parts;
    split_conjunction(*first.condition, parts);
    if (split.body.size() > 1 || std::none_of(parts.begin(), parts.end(),
                                              [](const Requirement& part) { return known_at_entry(*part.condition); }))
        return false;
    for (const Requirement& part : parts)
        (known_at_entry(*part.condition) ? split.at_entry : split.at_return).push_back(part);
    split.body = statements_of(*first.then_body);
    return true;
}

} // namespace

bool fits_session(const hir::Handler& handler) {
    // A session link has one address for both: the function's entry.
    return plan::is_uprobe(handler.kind) && plan::traits(handler.kind).at_return && !handler.at_return &&
           !handler.is_go &&
           (handler.entry_values.empty() ||
            std::all_of(handler.points.begin(), handler.points.end(),
                        [](const plan::Point& point) { return point.entry_offset == point.offset; }));
}

SessionSplit split_for_session(const hir::Handler& handler, const plan::Probe& probe, const PlanState& state,
                               bool counts) {
    SessionSplit plain;
    plain.body = statements_of(*handler.body);
    std::vector<Requirement> conditions;
    if (handler.condition)
        split_conjunction(*handler.condition, conditions);
    plain.at_return = conditions;
    // A program that reads performance counters must not sleep, but the other half might have to.
    if (!state.facts.uprobe_session || counts || !fits_session(handler))
        return plain;
    SessionSplit split;
    split.body = plain.body;
    for (const Requirement& part : conditions)
        (known_at_entry(*part.condition) ? split.at_entry : split.at_return).push_back(part);
    while (peel_condition(split)) {
    }
    // Starting a program at the entry costs a tenth of a return. The session link pays off if entry values must be
    // saved anyway, or if other processes call the function too, whose returns are then skipped.
    bool shared = state.plan.filter_target &&
                  std::any_of(probe.points.begin(), probe.points.end(),
                              [&](const auto& one) { return one.path != state.facts.target_program; });
    split.wanted = !handler.entry_values.empty() || probe.has_subjects() || shared;
    if (!split.wanted)
        return plain;
    std::set<uint32_t> read;
    bool text = false;
    auto visit = [&](const hir::Expr& expr) {
        if (expr.kind != hir::ExprKind::EntryRead)
            return;
        read.insert(hir::as<hir::EntryRead>(expr).index);
        text = text || expr.type == hir::ValueType::String;
    };
    for (const Requirement& part : split.at_return)
        for_each_expr(*part.condition, visit);
    for (const hir::Stmt* stmt : split.body)
        for_each_expr(*stmt, visit);
    if (read.size() == 1 && !text)
        split.in_record = *read.begin();
    else
        split.in_map = !read.empty();
    return split;
}

} // namespace sonde
