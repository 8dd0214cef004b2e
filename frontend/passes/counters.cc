// Finds the globals that are counters to a metrics system: the script only ever adds to them. A system such as
// Prometheus computes rates of counters, and it takes a smaller value for a restart. A global that can shrink must
// therefore be a gauge.
#include <set>

#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"

namespace sonde {
namespace {

// Whether the form of the expression shows that its value is never negative: constants, comparisons, counts, and C's
// unsigned types that are narrower than a number of the language.
bool is_never_negative(const hir::Expr& expr) {
    switch (expr.kind) {
    case hir::ExprKind::ConstLong:
        return hir::as<hir::ConstLong>(expr).value >= 0;
    case hir::ExprKind::Logical:
    case hir::ExprKind::Contains:
    case hir::ExprKind::Regex:
        return true;
    case hir::ExprKind::StatRead:
        return hir::as<hir::StatRead>(expr).what == hir::StatValue::Count;
    case hir::ExprKind::Unary:
        return hir::as<hir::Unary>(expr).op == hir::UnaryOp::Not;
    case hir::ExprKind::Load: {
        const auto& load = hir::as<hir::Load>(expr);
        return !load.is_signed && load.size < 8;
    }
    case hir::ExprKind::Retype: {
        const auto& retype = hir::as<hir::Retype>(expr);
        return !retype.is_signed && retype.size < 8;
    }
    case hir::ExprKind::Ternary: {
        const auto& ternary = hir::as<hir::Ternary>(expr);
        return is_never_negative(*ternary.then_value) && is_never_negative(*ternary.else_value);
    }
    case hir::ExprKind::Binary: {
        const auto& binary = hir::as<hir::Binary>(expr);
        switch (binary.op) {
        case hir::BinaryOp::Eq:
        case hir::BinaryOp::Ne:
        case hir::BinaryOp::Lt:
        case hir::BinaryOp::Le:
        case hir::BinaryOp::Gt:
        case hir::BinaryOp::Ge:
            return true;
        case hir::BinaryOp::And:
            return is_never_negative(*binary.left) || is_never_negative(*binary.right);
        case hir::BinaryOp::Add:
        case hir::BinaryOp::Div:
        case hir::BinaryOp::Mod:
            return is_never_negative(*binary.left) && is_never_negative(*binary.right);
        default:
            return false;
        }
    }
    default:
        return false;
    }
}

// Deleting a counter is not a change of it: readers recognize a counter that begins again.
class Changes {
  public:
    void see(const hir::Expr& expr) {
        if (expr.kind != hir::ExprKind::Assign)
            return;
        const auto& assign = hir::as<hir::Assign>(expr);
        const hir::Global* global = global_of(*assign.target);
        if (!global)
            return;
        (assign.op == hir::BinaryOp::Add && is_never_negative(*assign.value) ? added : others).insert(global);
    }
    std::set<const hir::Global*> added, others;
};

} // namespace

void find_counters(hir::Program& program) {
    Changes changes;
    for (const hir::Handler* handler : program.handlers)
        for_each_expr(*handler, [&](const hir::Expr& expr) { changes.see(expr); });
    for (const hir::Function* function : program.functions)
        for_each_expr(*function->body, [&](const hir::Expr& expr) { changes.see(expr); });
    for (hir::Global* global : program.globals)
        global->only_grows = global->is_own && global->type == hir::ValueType::Long && changes.added.contains(global) &&
                             !changes.others.contains(global);
}

} // namespace sonde
