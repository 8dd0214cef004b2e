// The times were measured with `-t` on a x86-64 processor of 3 GHz under Linux 6.18, as the difference of handlers with
// and without the operation. They vary with the machine by a factor of about two, and more where caches are cold.
#include "driver/handler_cost.h"

#include <set>

#include "frontend/hir/primitives.h"
#include "frontend/hir/walk.h"
#include "runtime/plan/plan.h"

namespace sonde {
namespace {

// In nanoseconds.
constexpr double scalar_ns = 8;        // an update of a number, atomic or per processor
constexpr double statistic_ns = 20;    // `s <<< x`
constexpr double element_ns = 150;     // a look-up or an update of an array's element
constexpr double loaded_ns = 25;       // a load from the program's memory
constexpr double user_string_ns = 250; // user_string() and similar functions
constexpr double record_ns = 300;      // a print: a record in the ring buffer
constexpr double record_text_ns = 15;  // each text in it
constexpr double sprint_ns = 80;       // sprintf(), and a concatenation
constexpr double stack_ns = 1400;      // unwinding a user stack
constexpr double kernel_stack_ns = 500;
constexpr double clock_ns = 20;
constexpr double task_ns = 6; // pid(), execname(), cpu()
constexpr double saved_ns = 150;
constexpr double regex_ns = 200;
constexpr double lock_ns = 40;
constexpr double step_ns = 0.5; // any other expression

class CostOfHandler {
  public:
    HandlerCost run(const hir::Handler& handler) {
        if (handler.condition)
            add(*handler.condition, 1);
        for (const hir::Expr* value : handler.entry_values)
            add(*value, 1);
        if (!handler.entry_values.empty())
            cost_.ns += saved_ns;
        if (handler.lock >= 0)
            cost_.ns += lock_ns;
        add(*handler.body, 1);
        return cost_;
    }

  private:
    void add(const hir::Stmt& stmt, double times) {
        using namespace hir;
        switch (stmt.kind) {
        case StmtKind::Block:
            for (const Stmt* inner : as<Block>(stmt).body)
                add(*inner, times);
            return;
        case StmtKind::If:
            add(*as<If>(stmt).condition, times);
            for (const Stmt* branch :
                 {static_cast<const Stmt*>(as<If>(stmt).then_body), static_cast<const Stmt*>(as<If>(stmt).else_body)})
                if (branch)
                    add(*branch, times / 2);
            return;
        case StmtKind::Loop:
        case StmtKind::Foreach:
            cost_.has_loops = true;
            times *= usual_rounds;
            break;
        case StmtKind::Delete:
            cost_.ns += element_ns * times;
            break;
        default:
            break;
        }
        // All expressions in it.
        for_each_expr(stmt, [&](const Expr& expr) { add_one(expr, times); });
    }
    void add(const hir::Expr& expr, double times) {
        for_each_expr(expr, [&](const hir::Expr& one) { add_one(one, times); });
    }

    // Adds the expression without its operands.
    void add_one(const hir::Expr& expr, double times) {
        using namespace hir;
        double ns = step_ns;
        switch (expr.kind) {
        case ExprKind::Element:
        case ExprKind::Contains:
            ns = element_ns;
            break;
        case ExprKind::Assign:
            // An element has counted itself.
            ns = global_of(*as<Assign>(expr).target) && as<Assign>(expr).target->kind == ExprKind::GlobalRef ? scalar_ns
                                                                                                             : step_ns;
            break;
        case ExprKind::StatAdd:
            ns = statistic_ns;
            break;
        case ExprKind::Load:
        case ExprKind::Store:
            ns = loaded_ns;
            break;
        case ExprKind::Concat:
            ns = sprint_ns;
            break;
        case ExprKind::Regex:
            ns = regex_ns;
            break;
        case ExprKind::Print: {
            const auto& print = as<Print>(expr);
            ns = print.to_string ? sprint_ns : record_ns;
            for (const Expr* arg : print.args)
                ns += arg->type == ValueType::String ? record_text_ns : step_ns;
            break;
        }
        case ExprKind::Intrinsic:
            ns = primitive_ns(as<Intrinsic>(expr));
            break;
        case ExprKind::Call:
            // A recursive call counts once.
            if (const Function* callee = as<Call>(expr).callee; active_.insert(callee).second) {
                add(*callee->body, times);
                active_.erase(callee);
            }
            break;
        default:
            break;
        }
        cost_.ns += ns * times;
    }

    double primitive_ns(const hir::Intrinsic& expr) {
        const hir::Primitive& facts = expr.facts;
        if (facts.needs_stacks && !expr.args.empty()) {
            // A handler unwinds a stack once.
            bool& is_known = facts.of_kernel ? knows_kernel_stack_ : knows_stack_;
            const double unwinding = is_known ? 0 : facts.of_kernel ? kernel_stack_ns : stack_ns;
            is_known = true;
            return unwinding + (facts.sends ? record_ns : sprint_ns);
        }
        if (facts.sends)
            return record_ns;
        if (facts.clock != hir::Clock::Monotonic || facts.name == "ktime_get_ns")
            return clock_ns;
        if (facts.about_task || facts.number != hir::TaskNumber::None)
            return task_ns;
        if (facts.trust == hir::Trust::OwnProcess || facts.trust == hir::Trust::Kernel)
            return expr.type == hir::ValueType::String ? user_string_ns : loaded_ns;
        return expr.type == hir::ValueType::String && !facts.is_stable ? sprint_ns / 2 : step_ns;
    }

    HandlerCost cost_;
    std::set<const hir::Function*> active_;
    bool knows_stack_ = false, knows_kernel_stack_ = false;
};

} // namespace

HandlerCost cost_of(const hir::Handler& handler) { return CostOfHandler().run(handler); }

} // namespace sonde
