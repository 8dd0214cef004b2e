// Which handlers must not run at the same time, so that what a handler does to globals is all or nothing for others.
//
// Single accesses are atomic by themselves: a read, a write of a number, `x++`, `a[k] += e`, `s <<< e`. A handler is
// delicate if its accesses to globals that others change belong together: two or more, and not only updates that
// commute. A foreach on the host reads once, all elements, which belong together if somebody changes several of them. A
// delicate handler takes a lock; so does another one that could come between its accesses and be seen: it
// changes two of its globals, or one that it touches twice. Arrays whose keys hold tid() everywhere belong to one
// thread each and need none. Begin, end and error handlers run alone.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "frontend/hir/walk.h"
#include "frontend/passes/passes.h"

namespace sonde {
namespace {

using hir::Global;

struct Access {
    int reads = 0, writes = 0, updates = 0;
    int copies = 0;           // foreach loops on the host: each reads all elements once, when it begins
    bool private_keys = true; // every access is by a key that holds tid()
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

bool holds_tid(const std::vector<hir::Expr*>& keys) {
    return std::any_of(keys.begin(), keys.end(), [](const hir::Expr* key) {
        return key && key->kind == hir::ExprKind::Intrinsic && hir::as<hir::Intrinsic>(*key).facts.per_thread;
    });
}

// The accesses of one body; those inside loops count once more.
class Collector {
  public:
    explicit Collector(bool in_kernel) : in_kernel_(in_kernel) {}
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
                note(*erase.global, {.writes = 1, .private_keys = holds_tid(erase.keys)});
            } else if (stmt.kind == hir::StmtKind::Foreach && &stmt != &body && hir::as<hir::Foreach>(stmt).array) {
                // It begins once, unless it is in another loop.
                note(*hir::as<hir::Foreach>(stmt).array,
                     {.reads = in_kernel_ ? 2 : 0, .copies = in_kernel_ ? 0 : 1, .private_keys = false});
            }
        });
    }

    void note(Global& global, Access access) { out[&global].add(access); }

    void visit(const hir::Expr& expr) {
        using namespace hir;
        bool private_keys = expr.kind == ExprKind::Element && holds_tid(as<Element>(expr).keys);
        switch (expr.kind) {
        case ExprKind::Assign: {
            const auto& assign = as<Assign>(expr);
            Global* global = global_of(*assign.target);
            if (!global)
                break;
            bool keys = assign.target->kind == ExprKind::Element && holds_tid(as<Element>(*assign.target).keys);
            bool element = assign.target->kind == ExprKind::Element;
            // The host changes an element of a kernel's array by reading and writing it.
            bool commutes = assign.op && !assign.concat && *assign.op != BinaryOp::Mul && *assign.op != BinaryOp::Div &&
                            *assign.op != BinaryOp::Mod && *assign.op != BinaryOp::Shl && *assign.op != BinaryOp::Shr &&
                            !(element && !in_kernel_);
            bool whole = !assign.op && !assign.concat;
            int pieces = global->type == ValueType::String ? 2 : 1; // a string is written and read piece by piece
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
            bool keys = element && holds_tid(as<Element>(*add.target).keys);
            bool atomic = in_kernel_ || !element;
            note(*global_of(*add.target),
                 {.reads = atomic ? 0 : 1, .writes = atomic ? 0 : 1, .updates = atomic ? 1 : 0, .private_keys = keys});
            targets_.insert(add.target);
            break;
        }
        case ExprKind::Contains:
            note(*as<Contains>(expr).array, {.reads = 1, .private_keys = holds_tid(as<Contains>(expr).keys)});
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
    std::set<const hir::Expr*> targets_; // what an assignment has already noted; parents come first
};

void add_callees(Collector& collector, bool in_kernel) {
    std::set<hir::Function*> seen;
    while (!collector.calls.empty()) {
        hir::Function* function = *collector.calls.begin();
        auto times = collector.calls.count(function);
        collector.calls.erase(function);
        if (!seen.insert(function).second)
            continue;
        Collector inner(in_kernel);
        inner.body(*function->body);
        for (size_t i = 0; i < std::min<size_t>(times + function->recursive, 2); i++)
            for (auto& [global, access] : inner.out)
                collector.out[global].add(access);
        collector.calls.insert(inner.calls.begin(), inner.calls.end());
    }
}

Accesses accesses_of(const hir::Handler& handler) {
    Collector collector(handler.in_kernel);
    collector.body(*handler.body);
    if (handler.condition)
        collector.expression(*handler.condition);
    add_callees(collector, handler.in_kernel);
    if (!handler.in_kernel) // the host's tid() is the session's own
        for (auto& [global, access] : collector.out)
            access.private_keys = false;
    return std::move(collector.out);
}

// Whether of all that handlers in the kernel touch one of the host needs no more than a copy of an array, of which a
// hit changes one element once: that is in the copy or not, without a lock.
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
    std::map<hir::Handler*, Accesses> handlers;
    std::set<Global*> changed, shared;
    for (hir::Handler* handler : program.handlers) {
        if (plan::runs_alone(handler->kind))
            continue;
        Accesses& accesses = handlers[handler] = accesses_of(*handler);
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

    // Delicate handlers, and what another one must not touch unseen.
    std::vector<hir::Handler*> locked;
    auto total = [](const Accesses& accesses, auto what) {
        int sum = 0;
        for (auto& [global, access] : accesses)
            sum += what(access);
        return sum;
    };
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

    // Handlers that share no global need not wait for each other: a lock for each connected group.
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
    // Handlers of the host run one after the other.
    std::set<int32_t> contended;
    for (hir::Handler* handler : program.handlers)
        if (handler->in_kernel)
            contended.insert(handler->lock);
    for (hir::Handler* handler : program.handlers)
        if (!contended.count(handler->lock))
            handler->lock = -1;
}

} // namespace sonde
