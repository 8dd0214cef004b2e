// Checks a script over a recording: the running system must not answer for the recorded one.
//
// Example: `uid()` in `probe record("price")` would return the uid of the user who runs sonde now. Such calls are
// errors, unless the recording's script has printed the same expression (build_call()).
//
// A handler also gets a condition here: it runs for events that have all values that it reads.
#include <set>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "frontend/hir/walk.h"
#include "frontend/sema/phases.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

bool is_recorded(const hir::Handler& handler) { return plan::traits(handler.kind).cause == plan::Cause::Recorded; }

using PointsByText = std::unordered_map<std::string, const plan::RecordedPoint*>; // by pp()

class RecordedCheck {
  public:
    RecordedCheck(hir::Handler& handler, SemaContext& context, const PointsByText& points)
        : handler_(handler), context_(context), points_(points) {}

    void run() {
        for_each_expr(handler_, [&](const hir::Expr& expr) { check(expr, expr.range); });
        if (is_recorded(handler_))
            for (const std::string& name : needs_)
                require(name);
    }

  private:
    // `range`: the place in the script, also for expressions in functions of the library.
    void check(const hir::Expr& expr, Range range) {
        const Sources& sources = context_.diags.sources();
        if (!sources.is_tapset(expr.range.file))
            range = expr.range;
        switch (expr.kind) {
        case hir::ExprKind::Call:
            if (const hir::Function* callee = hir::as<hir::Call>(expr).callee; seen_.insert(callee).second)
                for_each_expr(*callee->body, [&](const hir::Expr& inner) { check(inner, range); });
            return;
        case hir::ExprKind::Intrinsic:
            check_primitive(hir::as<hir::Intrinsic>(expr), range);
            return;
        case hir::ExprKind::Load:
        case hir::ExprKind::Store:
        case hir::ExprKind::Register:
        case hir::ExprKind::Argument:
            report(range, "the memory and the registers of a program are not in a recording",
                   "print the value in the recording's script, and read it as `$name`");
            return;
        default:
            return;
        }
    }

    void check_primitive(const hir::Intrinsic& primitive, Range range) {
        const std::string name = fmt::format("{}()", context_.diags.sources().text(range));
        if (primitive.facts.reads_recorded)
            needs_.insert(hir::as<hir::ConstString>(*primitive.args[0]).value);
        if (hir::is_live(primitive.facts))
            report(range, fmt::format("the recording has no answer for `{}`", name),
                   fmt::format("print `{0}` in the recording's script: then `{0}` is the recorded value", name));
        if (!is_recorded(handler_))
            return;
        for (const plan::Point& point : handler_.points) {
            const auto known = points_.find(point.pp);
            if (known == points_.end())
                continue;
            const plan::RecordedPoint* recorded = known->second;
            if (primitive.facts.needs_recorded_task && !recorded->has_task)
                report(range,
                       fmt::format("`{}` is the task of an event, and those of `{}` belong to no task", name,
                                   recorded->name),
                       "");
            if (primitive.facts.needs_recorded_stack && !primitive.args.empty())
                check_stack(primitive, *recorded, name, range);
        }
    }

    void check_stack(const hir::Intrinsic& primitive, const plan::RecordedPoint& recorded, const std::string& name,
                     Range range) {
        const bool of_kernel = primitive.facts.of_kernel;
        if (of_kernel ? recorded.has_kernel_stack : recorded.has_user_stack) {
            needs_.insert(of_kernel ? plan::kernel_stack_value : plan::user_stack_value);
            return;
        }
        report(range,
               fmt::format("`{}` is not in the recording: no handler at `{}` has printed a {} stack", name,
                           recorded.name, of_kernel ? "kernel" : "user"),
               fmt::format("add `{}()` to the recording's script", of_kernel ? "print_backtrace" : "print_ubacktrace"));
    }

    void report(Range range, const std::string& message, const std::string& help) {
        DiagBuilder report = context_.report_once(DiagId::WrongContext, range, message);
        if (!help.empty())
            report.help(help);
    }

    void require(const std::string& name) {
        Arena& arena = context_.arena;
        const Range range = handler_.range;
        std::vector<hir::Expr*> args = {arena.make<hir::ConstString>(range, name)};
        hir::Expr* has = arena.make<hir::Intrinsic>(range, "__recorded", hir::ValueType::Long, std::move(args));
        handler_.condition = handler_.condition ? arena.make<hir::Logical>(range, true, has, handler_.condition) : has;
    }

    hir::Handler& handler_;
    SemaContext& context_;
    const PointsByText& points_;
    std::set<const hir::Function*> seen_;
    std::set<std::string> needs_;
};

} // namespace

void check_recorded(hir::Program& program, SemaContext& context) {
    if (!context.env.recording)
        return;
    PointsByText points;
    for (const plan::RecordedPoint& point : context.env.recording->points)
        points.emplace(point.pp, &point);
    for (hir::Handler* handler : program.handlers)
        RecordedCheck(*handler, context, points).run();
}

} // namespace sonde
