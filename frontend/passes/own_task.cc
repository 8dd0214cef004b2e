// Warns about timers that ask for the current task. Host timers run in sonde's own process, so `execname()` there is
// always "sonde", which is hardly what the user wants. `timer.profile` interrupts the running task instead, and the
// warning suggests it.
#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"
#include "runtime/plan/kinds.h"

#include <set>
#include <vector>

#include <fmt/format.h>

namespace sonde {
namespace {

bool is_about_task(const hir::Expr& expr) {
    return expr.kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(expr).facts.about_task;
}

bool asks_about_task(const hir::Function& function, std::set<const hir::Function*>& seen) {
    if (!seen.insert(&function).second)
        return false;
    bool asks = false;
    for_each_expr(*function.body, [&](const hir::Expr& expr) {
        asks = asks || is_about_task(expr) ||
               (expr.kind == hir::ExprKind::Call && asks_about_task(*hir::as<hir::Call>(expr).callee, seen));
    });
    return asks;
}

} // namespace

void check_own_task(const hir::Program& program, const std::map<const hir::Handler*, Range>& heads,
                    Diagnostics& diags) {
    for (const hir::Handler* handler : program.handlers) {
        if (plan::traits(handler->kind).cause != plan::Cause::Timer ||
            diags.sources().is_tapset(heads.at(handler).file))
            continue;
        const hir::Expr* first = nullptr;
        std::string name;
        for_each_expr(*handler->body, [&](const hir::Expr& expr) {
            std::set<const hir::Function*> seen;
            const bool calls = expr.kind == hir::ExprKind::Call;
            if (first || (!is_about_task(expr) && !(calls && asks_about_task(*hir::as<hir::Call>(expr).callee, seen))))
                return;
            first = &expr;
            name = calls ? hir::as<hir::Call>(expr).callee->name : hir::as<hir::Intrinsic>(expr).name;
        });
        if (!first)
            continue;
        DiagBuilder report =
            diags.report(DiagId::OwnTask, heads.at(handler),
                         fmt::format("this timer runs in sonde's own process, which `{}` is about", name));
        if (!diags.sources().is_tapset(first->range.file))
            report.note(first->range, "asked here");
        constexpr uint64_t second_ns = 1'000'000'000;
        const uint64_t rate = second_ns / std::max<uint64_t>(1, handler->timer.interval_ns);
        report.help(
            fmt::format("`timer.profile.hz({})` interrupts the current task of each processor, and reads that task",
                        std::clamp<uint64_t>(rate, 1, 1000)));
    }
}

} // namespace sonde
