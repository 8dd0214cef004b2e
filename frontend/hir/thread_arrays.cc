// Finds the arrays whose elements each belong to one thread, so that they can be kept with the thread instead of in a
// hash map. Such an array connects two events of a thread:
//
//     probe syscall.read        { began[tid()] = gettimeofday_ns() }
//     probe syscall.read.return { if (tid() in began) { s <<< gettimeofday_ns() - began[tid()]; delete began[tid()] } }
//
// The kernel's task storage finds the element from the thread itself, without hashing, and it needs no lock. But nobody
// else can find it. So the script must use the array with the single key tid() only, in handlers that run in the
// thread that tid() names:
//
// * Not in a `foreach`, `delete began` or `[*] in began`, and not printed when the session ends.
// * Not in handlers of the session itself, whose thread is another one.
// * Not in handlers of samples, packets and security hooks, whose programs differ, and not in a handler that is about
//   another task than the current one.
//
// An array that replaces its oldest element (`%`) needs the order of all elements. Statistics are left out because they
// are rarely per thread, and a deletion would have to clear much memory.
//
// All idle threads, one for each processor, have the number 0 and share the element of that key. No program or system
// call runs in them. ThreadUse::anywhere says that other handlers use the array.
#include "frontend/hir/thread_arrays.h"

#include <algorithm>
#include <set>
#include <vector>

#include "frontend/hir/thread_keys.h"
#include "frontend/hir/walk.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using hir::Global;
using plan::Subject;

// All functions that run for a handler.
std::set<const hir::Function*> functions_of(const hir::Handler& handler) {
    std::set<const hir::Function*> out;
    std::vector<const hir::Function*> todo;
    const auto add = [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Call && out.insert(hir::as<hir::Call>(expr).callee).second)
            todo.push_back(hir::as<hir::Call>(expr).callee);
    };
    for_each_expr(handler, add);
    while (!todo.empty()) {
        const hir::Function* function = todo.back();
        todo.pop_back();
        for_each_expr(*function->body, add);
    }
    return out;
}

// The uses of arrays in handlers and functions.
class Uses {
  public:
    explicit Uses(const ThreadKeys& threads) : threads_(threads) {}
    std::set<const Global*> all;    // used at all
    std::set<const Global*> others; // used in another way than as a[tid()]

    void body(const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind == hir::StmtKind::Foreach)
                use(hir::as<hir::Foreach>(stmt).array, {});
            else if (stmt.kind == hir::StmtKind::Delete)
                use(hir::as<hir::Delete>(stmt).global, hir::as<hir::Delete>(stmt).keys);
        });
    }
    void expression(const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Element)
            use(hir::as<hir::Element>(expr).array, hir::as<hir::Element>(expr).keys);
        else if (expr.kind == hir::ExprKind::Contains)
            use(hir::as<hir::Contains>(expr).array, hir::as<hir::Contains>(expr).keys);
        else if (const Global* global = global_of(expr))
            use(global, {});
    }

  private:
    void use(const Global* global, const std::vector<hir::Expr*>& keys) {
        all.insert(global);
        if (keys.size() != 1 || !threads_.is_thread(keys[0]))
            others.insert(global);
    }

    const ThreadKeys& threads_;
};

// Whether tid() is the current thread's number there, and a program of this kind can use task storage.
bool runs_in_thread(const hir::Handler& handler, const std::set<const hir::Function*>& functions) {
    const plan::KindTraits& kind = plan::traits(handler.kind);
    const bool fits = kind.subject == Subject::UserCode || kind.subject == Subject::SystemCall ||
                      kind.subject == Subject::Tracepoint ||
                      (kind.subject == Subject::KernelFunction && !plan::decides(handler.kind)) ||
                      (plan::follows_tasks(handler.kind) && kind.at_return);
    bool is_about_other = false;
    const auto look = [&](const hir::Expr& expr) {
        is_about_other =
            is_about_other || (expr.kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(expr).facts.names_task);
    };
    for_each_expr(handler, look);
    for (const hir::Function* function : functions)
        for_each_expr(*function->body, look);
    return handler.in_kernel && fits && !is_about_other && kind.task_argument < 0;
}

bool can_be_idle(const hir::Handler& handler) {
    const Subject subject = plan::traits(handler.kind).subject;
    if (subject == Subject::KernelFunction)
        return true;
    return subject == Subject::Tracepoint && !std::ranges::all_of(handler.points, [](const plan::Point& point) {
               return point.is_system_call() || point.symbol == "sys_enter" || point.symbol == "sys_exit";
           });
}

} // namespace

std::map<const Global*, ThreadUse> find_thread_arrays(const hir::Program& program) {
    const ThreadKeys threads(program);
    Uses uses(threads);
    std::set<const Global*> elsewhere, idle;
    for (const hir::Function* function : program.functions) {
        uses.body(*function->body);
        for_each_expr(*function->body, [&](const hir::Expr& expr) { uses.expression(expr); });
    }
    for (const hir::Handler* handler : program.handlers) {
        const std::set<const hir::Function*> functions = functions_of(*handler);
        Uses own(threads);
        own.body(*handler->body);
        for_each_expr(*handler, [&](const hir::Expr& expr) { own.expression(expr); });
        uses.others.insert(own.others.begin(), own.others.end());
        for (const hir::Function* function : functions) {
            own.body(*function->body);
            for_each_expr(*function->body, [&](const hir::Expr& expr) { own.expression(expr); });
        }
        if (!runs_in_thread(*handler, functions))
            elsewhere.insert(own.all.begin(), own.all.end());
        else if (can_be_idle(*handler))
            idle.insert(own.all.begin(), own.all.end());
    }
    std::map<const Global*, ThreadUse> out;
    for (const Global* global : program.globals) {
        const bool fits = global->is_array() && global->used_in_kernel && !global->used_in_host &&
                          !global->auto_print && !global->wrap && global->type != hir::ValueType::Stats;
        if (fits && !uses.others.contains(global) && !elsewhere.contains(global))
            out[global].anywhere = idle.contains(global);
    }
    return out;
}

} // namespace sonde
