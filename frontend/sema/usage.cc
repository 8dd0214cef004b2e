// Determines how globals and functions are used. The results are the globals that must be in the kernel, the data that
// statistics keep, the globals to print at the end, and the order of functions.
//
// Uses are collected for each body first, without following calls. The uses of a handler are those of its body and of
// all functions that it can uses. This way, a function that a thousand handlers call is read once.
//
// A global that is written but never read is printed when the session ends, as in SystemTap. So it matters whether
// `x++` counts as a read: not as a statement, but in `y = x++`.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/hir/walk.h"
#include "frontend/parse/parser.h"
#include "frontend/sema/phases.h"

namespace sonde {

namespace {

struct Touches {
    std::set<hir::Global*> globals, read, written;
    std::set<hir::Function*> callees;

    void add(const Touches& other) {
        globals.insert(other.globals.begin(), other.globals.end());
        read.insert(other.read.begin(), other.read.end());
        written.insert(other.written.begin(), other.written.end());
    }
};

// Collects the uses in expressions. Parents are visited first, so an assignment marks its target as written before the
// target is visited as an expression.
class Collector {
  public:
    Touches out;

    void body(const hir::Stmt& body) {
        for_each_stmt(body, [&](const hir::Stmt& stmt) { statement(stmt); });
        for_each_expr(body, [&](const hir::Expr& expr) { expression(expr); });
    }

    void expression(const hir::Expr& expr) {
        using namespace hir;
        switch (expr.kind) {
        case ExprKind::Assign: {
            const auto& assign = as<Assign>(expr);
            if (Global* global = global_of(*assign.target)) {
                out.written.insert(global);
                // `x++` as a statement does not read x.
                if (assign.value_unused || (!assign.op && !assign.concat))
                    targets_.insert(assign.target);
            }
            break;
        }
        case ExprKind::StatAdd:
            out.written.insert(global_of(*as<StatAdd>(expr).target));
            targets_.insert(as<StatAdd>(expr).target);
            break;
        case ExprKind::Call:
            out.callees.insert(as<Call>(expr).callee);
            break;
        case ExprKind::Contains:
            out.globals.insert(as<Contains>(expr).array);
            out.read.insert(as<Contains>(expr).array);
            break;
        case ExprKind::StatRead:
            need(global_of(*as<StatRead>(expr).source)->stats, as<StatRead>(expr).what);
            break;
        default:
            break;
        }
        if (Global* global = global_of(expr)) {
            out.globals.insert(global);
            if (!targets_.count(&expr))
                out.read.insert(global);
        }
    }

    void statement(const hir::Stmt& stmt) {
        if (stmt.kind == hir::StmtKind::Delete) {
            out.globals.insert(hir::as<hir::Delete>(stmt).global);
        } else if (stmt.kind == hir::StmtKind::Foreach) {
            const auto& loop = hir::as<hir::Foreach>(stmt);
            if (!loop.array)
                return;
            out.globals.insert(loop.array);
            out.read.insert(loop.array);
            need(loop.array->stats, loop.sort_stat);
        }
    }

  private:
    static void need(plan::StatsNeeds& needs, hir::StatValue read) {
        needs.variance |= read == hir::StatValue::Variance;
        needs.quantiles |= read == hir::StatValue::Percentile;
    }

    std::set<const hir::Expr*> targets_; // written, not read
};

// Returns the uses in one body, without those in the functions that it calls.
Touches touches_of(const hir::Stmt& body) {
    Collector collector;
    collector.body(body);
    return std::move(collector.out);
}

} // namespace

void analyze_usage(hir::Program& program, const Names& names, const SideTables& tables, SemaContext& context) {
    std::map<hir::Function*, Touches> functions;
    for (hir::Function* function : program.functions)
        functions[function] = touches_of(*function->body);
    // Returns the uses in everything that a handler runs, including functions.
    auto touches_of_handler = [&](const hir::Handler& handler) {
        Collector collector;
        for_each_stmt(*handler.body, [&](const hir::Stmt& stmt) { collector.statement(stmt); });
        for_each_expr(handler, [&](const hir::Expr& expr) { collector.expression(expr); });
        Touches all = std::move(collector.out);
        std::vector<hir::Function*> todo(all.callees.begin(), all.callees.end());
        while (!todo.empty()) {
            const Touches& inner = functions[todo.back()];
            todo.pop_back();
            all.add(inner);
            for (hir::Function* callee : inner.callees)
                if (all.callees.insert(callee).second)
                    todo.push_back(callee);
        }
        return all;
    };
    // `probe never` handlers do not run. They only count for warnings: a global that they use is not unused.
    Touches running, never;
    for (const hir::Handler* handler : program.handlers) {
        Touches all = touches_of_handler(*handler);
        for (hir::Global* global : all.globals)
            (handler->in_kernel ? global->used_in_kernel : global->used_in_host) = true;
        running.add(all);
    }
    // `n in @hist_log(x)` reads x, although no expression in HIR does.
    running.globals.insert(tables.asked.begin(), tables.asked.end());
    running.read.insert(tables.asked.begin(), tables.asked.end());
    for (const hir::Handler* handler : tables.never_handlers)
        never.add(touches_of_handler(*handler));
    for (const GlobalEntry& entry : names.globals()) {
        hir::Global* global = entry.hir;
        bool library = context.diags.sources().is_tapset(entry.file);
        bool initialized = entry.ast->initializer || names.is_overridden(*global);
        bool written = running.written.count(global) || never.written.count(global);
        if (!library && !running.globals.count(global) && !never.globals.count(global)) {
            if (!context.options.unoptimized)
                context.report_once(DiagId::UnusedVariable, global->range,
                                    fmt::format("global `{}` is never used", global->name));
        } else if (!library && !written && !initialized) {
            context.report_once(DiagId::NeverAssigned, global->range,
                                fmt::format("global `{}` is never assigned", global->name));
        }
        if (global->wrap && names.shape_of(*global) == Shape::Scalar)
            context.report_once(
                DiagId::BadDeclaration, global->range,
                fmt::format("`{}` is not an array; `%` (wrap when full) applies to arrays only", global->name));
        global->is_own = !library;
        // A global of the script that is written and never read would be useless, so sonde prints it at the end.
        global->auto_print = !library && running.written.count(global) && !running.read.count(global);
        const auto type = tables.c_types_of_variables.find(global);
        global->print_as_pointer = type != tables.c_types_of_variables.end() && !type->second.other &&
                                   strip(type->second.type)->kind == Type::Pointer;
        // -u keeps unused globals if they can be stored. An array that is never used has unknown keys and cannot.
        bool placeable = names.shape_of(*global) != Shape::Array || global->is_array();
        if (!running.globals.count(global) && !(context.options.unoptimized && !library && placeable))
            continue;
        if (names.shape_of(*global) == Shape::Array && global->keys.empty()) { // the only use is `delete a`
            global->keys.push_back(hir::ValueType::Long);
        }
        if (global->is_array() && global->capacity == 0)
            global->capacity = context.options.limits.max_map_entries;
        if (global->type == hir::ValueType::Stats) {
            const bool wanted = std::ranges::any_of(context.options.keeps_quantiles, [&](const std::string& name) {
                return name.empty() || name == global->name;
            });
            global->stats.unicode = context.options.histogram == HistogramStyle::Unicode;
            // The data for percentiles takes 15 KB per statistic.
            constexpr uint64_t most_elements = 2048;
            const bool for_metrics = context.options.keeps_distributions && !global->stats.buckets() &&
                                     (!global->is_array() || global->capacity <= most_elements);
            global->stats.quantiles |= wanted || for_metrics || (global->stats.unicode && global->stats.buckets());
        }
        global->index = static_cast<uint32_t>(program.globals.size());
        program.globals.push_back(global);
    }
    // Globals that the analysis has generated.
    auto add_own = [&](hir::Global* global) {
        if (!running.globals.count(global))
            return;
        global->index = static_cast<uint32_t>(program.globals.size());
        program.globals.push_back(global);
    };
    for (const auto& [symbol, global] : tables.addresses)
        add_own(global);
    add_own(tables.arrivals);
    for (hir::Global* global : tables.python_entries.globals)
        add_own(global);
}

// A printed histogram's record contains data for all extractors that the script uses on the statistic.
void finish_histograms(const SideTables& tables) {
    for (hir::Print* print : tables.histogram_prints) {
        size_t arg = 0;
        for (plan::Directive& directive : print->format.directives) {
            if (directive.kind == plan::Directive::Literal)
                continue;
            if (directive.kind == plan::Directive::Histogram)
                directive.stats = global_of(*print->args[arg])->stats;
            arg++;
        }
    }
}

// Sorts functions so that callees come before callers, marks recursive functions, and drops those that only `probe
// never` calls. The order is that of a depth-first search from the handlers. A function that can reach itself through
// its callees is recursive. The lowering treats it differently (codegen/lower/recursion.cc).
void order_functions(hir::Program& program, SemaContext& context) {
    std::map<hir::Function*, std::set<hir::Function*>> callees;
    for (hir::Function* function : program.functions)
        callees[function] = touches_of(*function->body).callees;
    std::map<hir::Function*, size_t> position;
    for (hir::Function* function : program.functions)
        position.emplace(function, position.size());
    std::vector<hir::Function*> ordered;
    std::set<hir::Function*> done;
    std::function<void(hir::Function*, int)> visit = [&](hir::Function* function, int depth) {
        if (!done.insert(function).second)
            return;
        if (depth > max_nesting) { // later passes recurse along the calls
            context.report_once(DiagId::Unsupported, function->range,
                                fmt::format("functions call each other more than {} deep", max_nesting));
            return;
        }
        std::vector<hir::Function*> next(callees[function].begin(), callees[function].end());
        // Do not sort by address, so that the order is the same in every run.
        std::sort(next.begin(), next.end(), [&](auto* a, auto* b) { return position[a] < position[b]; });
        for (hir::Function* callee : next)
            visit(callee, depth + 1);
        ordered.push_back(function);
    };
    std::set<hir::Function*> roots;
    for (const hir::Handler* handler : program.handlers)
        for_each_expr(*handler, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::Call)
                roots.insert(hir::as<hir::Call>(expr).callee);
        });
    for (hir::Function* function : program.functions)
        if (roots.count(function))
            visit(function, 1);
    if (context.diags.has_errors())
        return;
    for (hir::Function* function : ordered) {
        std::set<hir::Function*> reached;
        std::vector<hir::Function*> todo(callees[function].begin(), callees[function].end());
        while (!todo.empty()) {
            hir::Function* next = todo.back();
            todo.pop_back();
            if (reached.insert(next).second)
                todo.insert(todo.end(), callees[next].begin(), callees[next].end());
        }
        function->recursive = reached.count(function) > 0;
    }
    program.functions = std::move(ordered);
}

} // namespace sonde
