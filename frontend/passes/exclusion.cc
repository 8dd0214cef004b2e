// Decides which handlers must not run at the same time, so that a handler's work on globals is all or nothing for the
// others.
//
// The problem. Handlers run on all processors at once, and the kernel cannot make a whole handler atomic. A single
// access is atomic: a read, a write of a number, `x++`, `a[k] += e`, `s <<< e`. Two accesses in a row are not:
//
//     probe A { if (!busy) { busy = 1; ... } }           # two processors may both read 0
//     probe B { n++; total += $len }
//     probe timer.s(1) { println(total / n) }            # may read after `total += ..` and before `n++`
//
// The obvious solution, one lock around every handler, makes all processors wait for each other. Most handlers need no
// lock, so this pass finds those that do and gives them as many different locks as possible.
//
// 1. Count each handler's accesses to every global, including those of the functions that it calls. An access in a loop
//    counts twice; only "one" and "two or more" matter. Drop the globals that no handler changes. Also drop the
//    arrays that every handler indexes with tid(): two threads never share an element. (tid() on the host is always
//    sonde's own, so host handlers do not count as such.)
// 2. A handler is *delicate* if it makes two or more accesses and at least one of them is not a commuting update.
//    Updates that commute (`n++`, `<<<`) give the same result in any order. Above, A and the timer are delicate, B is
//    not.
// 3. A delicate handler takes a lock. So does each handler that could get between its accesses and be noticed: it
//    shares two globals with the delicate handler, or one that the delicate handler accesses twice. B shares `n` and
//    `total` with the timer, so B takes the lock, too.
// 4. Handlers that are connected by shared globals get the same lock. Unconnected groups get different locks.
// 5. Host handlers run one after the other, so a lock that no kernel handler takes is dropped.
//
// A `foreach` on the host copies the whole array at once, before its first iteration. The copy counts as two reads,
// because a handler may change several elements that belong together. An exception is a kernel handler that changes
// only one element, once. The copy then has that change or does not have it, and both are consistent
// (copies_single_changes()).
//
// Begin, end and error handlers run alone and never take a lock.
//
// Pitfall: Collector must count every HIR node that accesses a global. If it misses one, no test on one processor
// fails, but results are wrong under load. An access that is counted as `updates` must be atomic on the target where it
// runs. The host reads and writes elements of kernel arrays in two steps, so its `a[k]++` is a read and a write.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "frontend/hir/thread_keys.h"
#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using hir::Global;

struct Access {
    int reads = 0, writes = 0, updates = 0;
    int copies = 0;           // `foreach` loops on the host: each copies all elements once, when it begins
    bool private_keys = true; // every access uses a key that contains tid()
    int plain() const { return reads + writes + 2 * copies; }
    int all() const { return plain() + updates; }
    void add(const Access& other) {
        reads += other.reads;
        writes += other.writes;
        updates += other.updates;
        copies += other.copies;
        private_keys = private_keys && other.private_keys;
    }
};
using Accesses = std::map<Global*, Access>;

// Counts the accesses of one body. Accesses inside a loop are visited once more for every loop around them, so they
// count at least twice.
class Collector {
  public:
    Collector(bool in_kernel, const ThreadKeys& threads) : in_kernel_(in_kernel), threads_(threads) {}
    Accesses out;
    std::multiset<hir::Function*> calls;

    void body(const hir::Stmt& body) {
        one(body);
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind == hir::StmtKind::Loop || stmt.kind == hir::StmtKind::Foreach)
                one(stmt);
        });
    }
    void expression(const hir::Expr& root) {
        for_each_expr(root, [&](const hir::Expr& expr) { visit(expr); });
    }

  private:
    void one(const hir::Stmt& body) {
        for_each_expr(body, [&](const hir::Expr& expr) { visit(expr); });
        for_each_stmt(body, [&](const hir::Stmt& stmt) {
            if (stmt.kind == hir::StmtKind::Delete) {
                const auto& erase = hir::as<hir::Delete>(stmt);
                note(*erase.global, {.writes = 1, .private_keys = threads_.in(erase.keys)});
            } else if (stmt.kind == hir::StmtKind::Foreach && &stmt != &body && hir::as<hir::Foreach>(stmt).array) {
                // A loop's array is read once when the loop begins. If the loop is inside another loop, visiting that
                // loop counts it again.
                note(*hir::as<hir::Foreach>(stmt).array,
                     {.reads = in_kernel_ ? 2 : 0, .copies = in_kernel_ ? 0 : 1, .private_keys = false});
            }
        });
    }

    void note(Global& global, Access access) { out[&global].add(access); }

    void visit(const hir::Expr& expr) {
        using namespace hir;
        bool private_keys = expr.kind == ExprKind::Element && threads_.in(as<Element>(expr).keys);
        switch (expr.kind) {
        case ExprKind::Assign: {
            const auto& assign = as<Assign>(expr);
            Global* global = global_of(*assign.target);
            if (!global)
                break;
            bool keys = assign.target->kind == ExprKind::Element && threads_.in(as<Element>(*assign.target).keys);
            bool element = assign.target->kind == ExprKind::Element;
            // The host changes an element of a kernel's array by reading and writing it.
            bool commutes = assign.op && !assign.concat && *assign.op != BinaryOp::Mul && *assign.op != BinaryOp::Div &&
                            *assign.op != BinaryOp::Mod && *assign.op != BinaryOp::Shl && *assign.op != BinaryOp::Shr &&
                            !(element && !in_kernel_);
            bool whole = !assign.op && !assign.concat;
            int pieces = global->type == ValueType::String ? 2 : 1; // a string is read and written in several steps
            if (commutes)
                note(*global, {.updates = 1, .private_keys = keys});
            else
                note(*global, {.reads = whole ? 0 : 1, .writes = pieces, .private_keys = keys});
            targets_.insert(assign.target);
            break;
        }
        case ExprKind::StatAdd: {
            const auto& add = as<StatAdd>(expr);
            bool element = add.target->kind == ExprKind::Element;
            bool keys = element && threads_.in(as<Element>(*add.target).keys);
            bool atomic = in_kernel_ || !element;
            note(*global_of(*add.target),
                 {.reads = atomic ? 0 : 1, .writes = atomic ? 0 : 1, .updates = atomic ? 1 : 0, .private_keys = keys});
            targets_.insert(add.target);
            break;
        }
        case ExprKind::Contains:
            note(*as<Contains>(expr).array, {.reads = 1, .private_keys = threads_.in(as<Contains>(expr).keys)});
            break;
        case ExprKind::Call:
            calls.insert(as<Call>(expr).callee);
            break;
        case ExprKind::GlobalRef:
        case ExprKind::Element:
            if (!targets_.count(&expr)) {
                Global* global = global_of(expr);
                int reads = global->type == ValueType::String ? 2 : 1;
                note(*global, {.reads = reads, .private_keys = private_keys});
            }
            break;
        default:
            break;
        }
    }

    bool in_kernel_;
    const ThreadKeys& threads_;
    std::set<const hir::Expr*> targets_; // already counted as part of an assignment; parents are visited first
};

// Adds the accesses of all functions that the handler calls, directly or not. A function that is called twice, or is
// recursive, counts twice.
void add_callees(Collector& collector, bool in_kernel, const ThreadKeys& threads) {
    std::set<hir::Function*> seen;
    while (!collector.calls.empty()) {
        hir::Function* function = *collector.calls.begin();
        auto times = collector.calls.count(function);
        collector.calls.erase(function);
        if (!seen.insert(function).second)
            continue;
        Collector inner(in_kernel, threads);
        inner.body(*function->body);
        for (size_t i = 0; i < std::min<size_t>(times + function->recursive, 2); i++)
            for (auto& [global, access] : inner.out)
                collector.out[global].add(access);
        collector.calls.insert(inner.calls.begin(), inner.calls.end());
    }
}

Accesses accesses_of(const hir::Handler& handler, const ThreadKeys& threads) {
    Collector collector(handler.in_kernel, threads);
    collector.body(*handler.body);
    if (handler.condition)
        collector.expression(*handler.condition);
    add_callees(collector, handler.in_kernel, threads);
    if (!handler.in_kernel) // tid() on the host is sonde's own thread
        for (auto& [global, access] : collector.out)
            access.private_keys = false;
    return std::move(collector.out);
}

// Whether a host handler needs no lock because all it does with kernel handlers' globals is to copy one array, once.
// Every kernel handler must change at most one element of it, once. Such a change is either in the copy or not; both
// are consistent.
bool copies_single_changes(const hir::Handler& handler, const std::map<hir::Handler*, Accesses>& handlers,
                           const Accesses& accesses) {
    if (handler.in_kernel)
        return false;
    int touched = 0;
    for (const auto& [global, access] : accesses) {
        bool in_kernel = false;
        for (const auto& [other, theirs] : handlers) {
            auto found = theirs.find(global);
            if (!other->in_kernel || found == theirs.end())
                continue;
            in_kernel = true;
            if (access.copies != 1 || access.reads + access.writes + access.updates > 0 || found->second.all() >= 2)
                return false;
        }
        touched += in_kernel;
    }
    return touched <= 1;
}

} // namespace

void plan_exclusion(hir::Program& program) {
    // Step 1 of the essay above: accesses per handler, without globals that need no protection.
    const ThreadKeys threads(program);
    std::map<hir::Handler*, Accesses> handlers;
    std::set<Global*> changed, shared;
    for (hir::Handler* handler : program.handlers) {
        if (plan::runs_alone(handler->kind))
            continue;
        Accesses& accesses = handlers[handler] = accesses_of(*handler, threads);
        for (auto& [global, access] : accesses) {
            if (access.writes + access.updates > 0)
                changed.insert(global);
            if (!access.private_keys || !global->is_array())
                shared.insert(global);
        }
    }
    for (auto& [handler, accesses] : handlers)
        std::erase_if(accesses,
                      [&](const auto& entry) { return !changed.count(entry.first) || !shared.count(entry.first); });

    // Delicate handlers first, then the handlers that could run between their accesses and be noticed.
    std::vector<hir::Handler*> locked;
    auto total = [](const Accesses& accesses, auto what) {
        int sum = 0;
        for (auto& [global, access] : accesses)
            sum += what(access);
        return sum;
    };
    // Step 2: the delicate handlers.
    for (hir::Handler* handler : program.handlers) {
        auto found = handlers.find(handler);
        if (found == handlers.end())
            continue;
        int all = total(found->second, [](const Access& a) { return a.all(); });
        int plain = total(found->second, [](const Access& a) { return a.plain(); });
        bool single = copies_single_changes(*handler, handlers, found->second);
        if (all >= 2 && plain >= 1 && !single)
            locked.push_back(handler);
    }
    std::vector<hir::Handler*> delicate = locked;
    // Step 3: the handlers that a delicate one can notice.
    for (hir::Handler* handler : program.handlers) {
        auto found = handlers.find(handler);
        if (found == handlers.end() || std::count(delicate.begin(), delicate.end(), handler))
            continue;
        bool seen = std::any_of(delicate.begin(), delicate.end(), [&](hir::Handler* other) {
            int common = 0;
            for (auto& [global, access] : found->second) {
                auto theirs = handlers[other].find(global);
                if (theirs == handlers[other].end())
                    continue;
                common++;
                if (theirs->second.all() >= 2)
                    return true;
            }
            return common >= 2;
        });
        if (seen)
            locked.push_back(handler);
    }

    // Handlers without a common global need not wait for each other: each connected group gets its own lock
    // (union-find).
    std::map<Global*, hir::Handler*> owner;
    std::map<hir::Handler*, hir::Handler*> parent;
    auto root = [&](hir::Handler* handler) {
        while (parent[handler] != handler)
            handler = parent[handler];
        return handler;
    };
    for (hir::Handler* handler : locked) {
        parent.try_emplace(handler, handler);
        for (auto& [global, access] : handlers[handler]) {
            auto [entry, fresh] = owner.try_emplace(global, handler);
            if (!fresh)
                parent[root(handler)] = root(entry->second);
        }
    }
    std::map<hir::Handler*, uint32_t> numbers;
    for (hir::Handler* handler : program.handlers) {
        if (!parent.count(handler))
            continue;
        auto [number, fresh] = numbers.try_emplace(root(handler), program.locks);
        if (fresh)
            program.locks++;
        handler->lock = static_cast<int32_t>(number->second);
        for (Global* global : program.globals)
            if (handlers[handler].count(global))
                handler->locked_for += (handler->locked_for.empty() ? "" : ", ") + global->name;
    }
    // Host handlers run one after the other, so a lock that no kernel handler takes is useless.
    std::set<int32_t> contended;
    for (hir::Handler* handler : program.handlers)
        if (handler->in_kernel)
            contended.insert(handler->lock);
    for (hir::Handler* handler : program.handlers)
        if (!contended.count(handler->lock))
            handler->lock = -1;
}

} // namespace sonde
