// Who touches what: which globals live in the kernel, what statistics keep, what is printed at the end, who calls whom.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/sema/analyzer.h"

namespace sonde {

namespace {

struct Touches {
    std::set<hir::Global*> globals, read, written;
    std::set<hir::Function*> callees;
};

hir::Global* global_of(const hir::Expr& expr) {
    if (expr.kind == hir::ExprKind::GlobalRef)
        return hir::as<hir::GlobalRef>(expr).global;
    if (expr.kind == hir::ExprKind::Element)
        return hir::as<hir::Element>(expr).array;
    return nullptr;
}

// Everything in a body. `targets` are the expressions that are written, not read.
void collect_expr(const hir::Expr& expr, Touches& out, std::set<const hir::Expr*>& targets) {
    using namespace hir;
    for_each_expr(expr, [&](const Expr& e) {
        switch (e.kind) {
        case ExprKind::Assign: {
            const auto& assign = as<Assign>(e);
            if (Global* global = global_of(*assign.target)) {
                out.written.insert(global);
                if (assign.value_unused || (!assign.op && !assign.concat))
                    targets.insert(assign.target);
            }
            break;
        }
        case ExprKind::StatAdd:
            out.written.insert(global_of(*as<StatAdd>(e).target));
            targets.insert(as<StatAdd>(e).target);
            break;
        case ExprKind::Call:
            out.callees.insert(as<Call>(e).callee);
            break;
        case ExprKind::Contains:
            out.globals.insert(as<Contains>(e).array);
            out.read.insert(as<Contains>(e).array);
            break;
        case ExprKind::StatRead: {
            const auto& read = as<StatRead>(e);
            if (read.what == StatValue::Variance)
                global_of(*read.source)->stats.variance = true;
            break;
        }
        default:
            break;
        }
        if (Global* global = global_of(e)) {
            out.globals.insert(global);
            if (!targets.count(&e))
                out.read.insert(global);
        }
    });
}

Touches collect(const hir::Stmt& body) {
    Touches out;
    std::set<const hir::Expr*> targets;
    for_each_stmt(body, [&](const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Foreach) {
            const auto& loop = hir::as<hir::Foreach>(stmt);
            if (loop.array) {
                out.globals.insert(loop.array);
                out.read.insert(loop.array);
                if (loop.sort_stat == hir::StatValue::Variance)
                    loop.array->stats.variance = true;
            }
        } else if (stmt.kind == hir::StmtKind::Delete) {
            out.globals.insert(hir::as<hir::Delete>(stmt).global);
        }
    });
    // Parents come before their parts, so an assignment marks its target before the target itself is seen.
    using namespace hir;
    for_each_stmt(body, [&](const Stmt& stmt) {
        auto one = [&](const Expr* e) {
            if (e)
                collect_expr(*e, out, targets);
        };
        switch (stmt.kind) {
        case StmtKind::Expression:
            one(as<ExprStmt>(stmt).expr);
            break;
        case StmtKind::If:
            one(as<If>(stmt).condition);
            break;
        case StmtKind::Loop:
            one(as<Loop>(stmt).init);
            one(as<Loop>(stmt).condition);
            one(as<Loop>(stmt).step);
            break;
        case StmtKind::Foreach:
            one(as<Foreach>(stmt).limit);
            one(as<Foreach>(stmt).histogram);
            for (const Expr* e : as<Foreach>(stmt).slice)
                one(e);
            break;
        case StmtKind::Return:
            one(as<Return>(stmt).value);
            break;
        case StmtKind::Delete:
            for (const Expr* e : as<Delete>(stmt).keys)
                one(e);
            break;
        default:
            break;
        }
    });
    return out;
}

} // namespace

void Analyzer::analyze_usage() {
    std::map<hir::Function*, Touches> functions;
    for (hir::Function* function : program_->functions)
        functions[function] = collect(*function->body);
    std::set<hir::Global*> used, read, written;
    for (const auto* handlers : {&program_->handlers, &never_handlers_}) {
        for (hir::Handler* handler : *handlers) {
            Touches all = collect(*handler->body);
            std::set<const hir::Expr*> targets;
            if (handler->condition)
                collect_expr(*handler->condition, all, targets);
            for (hir::Expr* value : handler->entry_values)
                collect_expr(*value, all, targets);
            std::vector<hir::Function*> todo(all.callees.begin(), all.callees.end());
            while (!todo.empty()) {
                hir::Function* function = todo.back();
                todo.pop_back();
                const Touches& inner = functions[function];
                all.globals.insert(inner.globals.begin(), inner.globals.end());
                all.read.insert(inner.read.begin(), inner.read.end());
                all.written.insert(inner.written.begin(), inner.written.end());
                for (hir::Function* callee : inner.callees)
                    if (all.callees.insert(callee).second)
                        todo.push_back(callee);
            }
            for (hir::Global* global : all.globals)
                (handler->in_kernel ? global->used_in_kernel : global->used_in_host) = true;
            used.insert(all.globals.begin(), all.globals.end());
            read.insert(all.read.begin(), all.read.end());
            written.insert(all.written.begin(), all.written.end());
        }
    }
    for (GlobalEntry& entry : global_entries_) {
        hir::Global* global = entry.hir;
        bool library = diags_.sources().is_tapset(entry.file);
        if (!library && !used.count(global))
            diags_.report(DiagId::UnusedVariable, global->range,
                          fmt::format("global `{}` is never used", global->name));
        else if (!library && !written.count(global) && !entry.ast->initializer && global->type != hir::ValueType::Stats)
            diags_.report(DiagId::NeverAssigned, global->range,
                          fmt::format("global `{}` is never assigned", global->name));
        if (global->wrap && !global->is_array())
            diags_.report(DiagId::BadDeclaration, global->range,
                          fmt::format("`{}` is no array, so nothing can be evicted from it", global->name));
        global->auto_print = !library && written.count(global) && !read.count(global);
        if (global->capacity == 0)
            global->capacity = options_.max_map_entries;
        if (!used.count(global) && !options_.unoptimized)
            continue;
        global->index = static_cast<uint32_t>(program_->globals.size());
        program_->globals.push_back(global);
    }
}

// Callees before callers; what calls itself is marked.
void Analyzer::order_functions() {
    std::map<hir::Function*, std::vector<hir::Function*>> callees;
    for (hir::Function* function : program_->functions) {
        Touches touches = collect(*function->body);
        callees[function].assign(touches.callees.begin(), touches.callees.end());
    }
    std::vector<hir::Function*> ordered;
    std::set<hir::Function*> done;
    std::function<void(hir::Function*)> visit = [&](hir::Function* function) {
        if (!done.insert(function).second)
            return;
        for (hir::Function* callee : callees[function])
            visit(callee);
        ordered.push_back(function);
    };
    for (hir::Function* function : program_->functions)
        visit(function);
    for (hir::Function* function : ordered) {
        std::set<hir::Function*> reached;
        std::vector<hir::Function*> todo = callees[function];
        while (!todo.empty()) {
            hir::Function* next = todo.back();
            todo.pop_back();
            if (reached.insert(next).second)
                todo.insert(todo.end(), callees[next].begin(), callees[next].end());
        }
        function->recursive = reached.count(function) > 0;
    }
    program_->functions = std::move(ordered);
}

} // namespace sonde
