// Converts statements to HIR.
//
// A statement that @defined decides has only one branch in HIR. This is necessary, not an optimization: the other
// branch may use variables that do not exist at this probe point. For the same reason, the bodies of a probe with
// several points are built once for each point.
//
// The variables of `foreach` and `catch` may be globals. The loop itself always sets hidden locals, and the body begins
// with copies to the globals. The lowering then has to know only one kind of loop variable.
#include <utility>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/sema/build_c.h"
#include "frontend/sema/build_call.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_name.h"
#include "frontend/sema/build_print.h"
#include "frontend/sema/build_stmt.h"
#include "frontend/sema/build_target.h"

namespace sonde {

using hir::ValueType;

namespace {

void append_statements(Body& b, const std::vector<ast::Stmt*>& stmts, hir::Block& out);
hir::Stmt* build_body(Body& b, const ast::Stmt& stmt); // never null
// Null for a statement without effect; the same holds for the functions below.
hir::Stmt* build_stmt(Body& b, const ast::Stmt& stmt);
hir::Stmt* build_loop(Body& b, const ast::Stmt& stmt);
// Declares the variable that a statement sets. If it is a global, the statement sets a hidden local instead, and the
// copy to the global is appended to `copies`.
hir::Local* bind_variable(Body& b, const std::string& name, Range range, std::vector<hir::Stmt*>& copies);
hir::Stmt* prepend(Body& b, const std::vector<hir::Stmt*>& first, hir::Stmt* body);
bool build_collection(Body& b, const ast::ForeachStmt& s, hir::Foreach& loop);
hir::Stmt* build_foreach(Body& b, const ast::ForeachStmt& s);
hir::Stmt* build_delete(Body& b, const ast::DeleteStmt& s);
hir::Stmt* build_try(Body& b, const ast::TryStmt& s);

} // namespace

void build_block(Body& b, const ast::BlockStmt& block, FileId file, hir::Block& out) {
    FileId saved = std::exchange(b.file, file);
    append_statements(b, block.body, out);
    b.file = saved;
}

namespace {
void append_statements(Body& b, const std::vector<ast::Stmt*>& stmts, hir::Block& out) {
    const ast::Stmt* leaves = nullptr; // the statement after which control never continues
    bool reported = false;
    for (const ast::Stmt* stmt : stmts) {
        // Warn once per block: everything that follows is unreachable for the same reason.
        if (leaves && !reported && stmt->kind != ast::StmtKind::Empty) {
            b.context.report_once(DiagId::Unreachable, stmt->range, "this statement is never reached")
                .note(leaves->range, "because of this");
            reported = true;
        }
        if (hir::Stmt* built = build_stmt(b, *stmt))
            out.body.push_back(built);
        if (stmt->kind == ast::StmtKind::Next || stmt->kind == ast::StmtKind::Return ||
            stmt->kind == ast::StmtKind::Break || stmt->kind == ast::StmtKind::Continue)
            leaves = stmt;
    }
}

hir::Stmt* build_body(Body& b, const ast::Stmt& stmt) {
    hir::Stmt* built = build_stmt(b, stmt);
    return built ? built : b.make<hir::Block>(stmt.range);
}

namespace {

// `if (x = 1)` always takes the same branch, so the user probably means `==`.
void warn_of_assignment(Body& b, const ast::Expr& condition) {
    if (condition.kind != ast::ExprKind::Assign)
        return;
    const auto& assign = ast::as<ast::AssignExpr>(condition);
    if (assign.op || assign.aggregate ||
        (assign.value->kind != ast::ExprKind::Number && assign.value->kind != ast::ExprKind::String))
        return;
    b.context
        .report_once(DiagId::AssignedCondition, condition.range,
                     fmt::format("`{}` assigns a value, and the condition tests that value", ast::to_source(condition)))
        .help("`==` compares");
}

} // namespace

hir::Stmt* build_stmt(Body& b, const ast::Stmt& stmt) {
    using ast::StmtKind;
    Range range = stmt.range;
    switch (stmt.kind) {
    case StmtKind::Block: {
        auto* block = b.make<hir::Block>(range);
        append_statements(b, ast::as<ast::BlockStmt>(stmt).body, *block);
        return block;
    }
    case StmtKind::Expression:
        return b.make<hir::ExprStmt>(range, build_effect(b, *ast::as<ast::ExprStmt>(stmt).expr));
    case StmtKind::If: {
        const auto& s = ast::as<ast::IfStmt>(stmt);
        warn_of_assignment(b, *s.condition);
        // If @defined decides the condition, build only the branch that is taken. The other one may use variables that
        // do not exist here.
        if (s.condition->kind != ast::ExprKind::Number)
            if (std::optional<bool> value = known_value(b, *s.condition)) {
                const ast::Stmt* taken = *value ? s.then_body : s.else_body;
                return taken ? build_stmt(b, *taken) : nullptr;
            }
        hir::Expr* condition = build_expr(b, *s.condition);
        hir::Stmt* then_body = build_body(b, *s.then_body);
        return b.make<hir::If>(range, condition, then_body, s.else_body ? build_stmt(b, *s.else_body) : nullptr);
    }
    case StmtKind::While:
    case StmtKind::For:
        return build_loop(b, stmt);
    case StmtKind::Foreach:
        return build_foreach(b, ast::as<ast::ForeachStmt>(stmt));
    case StmtKind::Break:
        return b.make<hir::Break>(range);
    case StmtKind::Continue:
        return b.make<hir::Continue>(range);
    case StmtKind::Next:
        return b.function() ? build_next_overload(b, range) : b.make<hir::Next>(range);
    case StmtKind::Return: {
        const auto& s = ast::as<ast::ReturnStmt>(stmt);
        (s.value ? b.returns_value : b.returns_nothing) = true;
        hir::Expr* value = s.value ? build_expr(b, *s.value) : nullptr;
        // Another `return` of the function has no value, so the function returns nothing. Evaluate the value for its
        // effect.
        if (value && b.function() && b.function()->bare_return.valid()) {
            auto* block = b.make<hir::Block>(range);
            block->body.push_back(b.make<hir::ExprStmt>(range, value));
            block->body.push_back(b.make<hir::Return>(range, nullptr));
            return block;
        }
        if (value)
            record_c_type(b.tables, b.function(), *value);
        return b.make<hir::Return>(range, value);
    }
    case StmtKind::Delete:
        return build_delete(b, ast::as<ast::DeleteStmt>(stmt));
    case StmtKind::Try:
        return build_try(b, ast::as<ast::TryStmt>(stmt));
    case StmtKind::Empty:
        return nullptr;
    }
    UNREACHABLE("statement kind");
}

hir::Stmt* build_loop(Body& b, const ast::Stmt& stmt) {
    auto* loop = b.make<hir::Loop>(stmt.range);
    if (stmt.kind == ast::StmtKind::While) {
        const auto& s = ast::as<ast::WhileStmt>(stmt);
        warn_of_assignment(b, *s.condition);
        loop->condition = build_expr(b, *s.condition);
        loop->body = build_body(b, *s.body);
        return loop;
    }
    const auto& s = ast::as<ast::ForStmt>(stmt);
    loop->init = s.init ? build_effect(b, *s.init) : nullptr;
    loop->condition = s.condition ? build_expr(b, *s.condition) : nullptr;
    loop->body = build_body(b, *s.body);
    loop->step = s.step ? build_effect(b, *s.step) : nullptr;
    return loop;
}

hir::Local* bind_variable(Body& b, const std::string& name, Range range, std::vector<hir::Stmt*>& copies) {
    hir::Global* global = b.find_local(name) ? nullptr : b.find_global(name);
    // A name that no script can write; the number distinguishes loops.
    hir::Local* local = b.declare(global ? fmt::format("{}.{}", name, b.locals.size()) : name, range);
    b.tables.assigned.insert(local);
    b.tables.bound.insert(local);
    if (global && b.names.use_as(*global, Shape::Scalar, range)) {
        auto* copy =
            b.make<hir::Assign>(range, b.make<hir::GlobalRef>(range, global), b.make<hir::LocalRef>(range, local));
        copy->value_unused = true;
        copies.push_back(b.make<hir::ExprStmt>(range, copy));
    }
    return local;
}

hir::Stmt* prepend(Body& b, const std::vector<hir::Stmt*>& first, hir::Stmt* body) {
    if (first.empty())
        return body;
    auto* block = b.make<hir::Block>(body->range);
    block->body = first;
    block->body.push_back(body);
    return block;
}

// Builds the array, slice or histogram that a foreach loop visits. Returns false after reporting an error.
bool build_collection(Body& b, const ast::ForeachStmt& s, hir::Foreach& loop) {
    const ast::Expr& collection = *s.collection;
    if (collection.kind == ast::ExprKind::Statistic) {
        const auto& statistic = ast::as<ast::StatisticExpr>(collection);
        if (statistic.extractor < ast::Extractor::HistLog || s.keys.size() != 1) {
            b.context.report_once(DiagId::BadStatistic, collection.range,
                                  "of statistics, only a histogram's buckets can be walked over, with one variable");
            return false;
        }
        if (s.sort_extractor) {
            b.context
                .report_once(DiagId::BadStatistic, collection.range,
                             "the buckets of a histogram are numbers, not statistics")
                .help("`+` or `-` after the histogram sorts by count");
            return false;
        }
        loop.histogram = build_stats_source(b, *statistic.operand);
        if (loop.histogram)
            need_histogram(b, *loop.histogram, statistic);
        return loop.histogram;
    }
    if (collection.kind != ast::ExprKind::Name && collection.kind != ast::ExprKind::Index) {
        b.context.report_once(DiagId::TypeMismatch, collection.range,
                              fmt::format("`{}` is not an array", ast::to_source(collection)));
        return false;
    }
    bool sliced = collection.kind == ast::ExprKind::Index;
    Range range = sliced ? ast::as<ast::IndexExpr>(collection).name_range : collection.range;
    loop.array = find_array(
        b, sliced ? ast::as<ast::IndexExpr>(collection).name : ast::as<ast::NameExpr>(collection).name, range);
    if (!loop.array)
        return false;
    if (sliced)
        loop.slice = build_keys(b, ast::as<ast::IndexExpr>(collection).keys, true, *loop.array, collection.range);
    Range keys = s.key_ranges.empty() ? range : Range::join(s.key_ranges.front(), s.key_ranges.back());
    return check_key_count(b, *loop.array, s.keys.size(), keys);
}

hir::Stmt* build_foreach(Body& b, const ast::ForeachStmt& s) {
    auto* loop = b.make<hir::Foreach>(s.range);
    loop->sort_direction = s.sort_direction;
    loop->sort_column = s.sort_direction ? s.sort_column : 0;
    if (s.sort_extractor) {
        loop->sort_stat = static_cast<hir::StatValue>(*s.sort_extractor);
        loop->sort_percentile = s.sort_percentile;
        b.tables.stat_sorted[loop] = s.collection->range;
    }
    if (s.limit)
        loop->limit = build_expr(b, *s.limit);
    if (!build_collection(b, s, *loop)) {
        // Build the body nevertheless, to report its errors.
        std::vector<hir::Stmt*> copies;
        for (size_t i = 0; i < s.keys.size(); i++)
            bind_variable(b, s.keys[i], s.key_ranges[i], copies);
        build_body(b, *s.body);
        return nullptr;
    }
    std::vector<hir::Stmt*> copies;
    for (size_t i = 0; i < s.keys.size(); i++)
        loop->keys.push_back(bind_variable(b, s.keys[i], s.key_ranges[i], copies));
    if (!s.value.empty())
        loop->value = bind_variable(b, s.value, s.value_range, copies);
    loop->body = prepend(b, copies, build_body(b, *s.body));
    return loop;
}

hir::Stmt* build_delete(Body& b, const ast::DeleteStmt& s) {
    if (s.target->kind == ast::ExprKind::Index) {
        const auto& index = ast::as<ast::IndexExpr>(*s.target);
        hir::Global* global = find_array(b, index.name, index.name_range);
        if (!global)
            return nullptr;
        return b.make<hir::Delete>(s.range, global, build_keys(b, index.keys, true, *global, s.target->range));
    }
    if (s.target->kind != ast::ExprKind::Name) // the parser has reported an error
        return nullptr;
    const std::string& name = ast::as<ast::NameExpr>(*s.target).name;
    if (!b.find_local(name))
        if (hir::Global* global = b.find_global(name))
            return b.make<hir::Delete>(s.range, global, std::vector<hir::Expr*>());
    // Reset a local to 0 or "": infer.cc chooses between them when the type is known.
    hir::Local* local = b.declare(name, s.target->range);
    b.tables.assigned.insert(local);
    auto* reset = b.make<hir::Assign>(s.range, b.make<hir::LocalRef>(s.target->range, local), b.zero(s.range));
    reset->value_unused = true;
    b.tables.resets.insert(reset);
    return b.make<hir::ExprStmt>(s.range, reset);
}

hir::Stmt* build_try(Body& b, const ast::TryStmt& s) {
    hir::Stmt* body = build_body(b, *s.body);
    hir::Local* message = nullptr;
    std::vector<hir::Stmt*> copies;
    if (!s.variable.empty())
        message = bind_variable(b, s.variable, s.variable_range, copies);
    if (message && message->type == ValueType::Unknown) {
        message->type = ValueType::String;
        b.tables.fixed_at[message] = s.variable_range;
    }
    return b.make<hir::Try>(s.range, body, message, prepend(b, copies, build_body(b, *s.handler)));
}

} // namespace

// Parameters are locals whose values the caller sets.
void build_function(Body& b, const ast::Function& function) {
    for (hir::Local* param : b.function()->params) {
        b.locals_by_name[param->name] = param;
        b.locals.push_back(param);
    }
    if (!function.embedded.empty()) {
        build_c_body(b, function);
        return;
    }
    // A `return` without a value anywhere decides that the function has no result, so it must be known before the body
    // is built.
    for_each_stmt(*function.body, [&](const ast::Stmt& stmt) {
        if (stmt.kind == ast::StmtKind::Return && !ast::as<ast::ReturnStmt>(stmt).value)
            b.function()->bare_return = stmt.range;
    });
    if (b.function()->bare_return.valid())
        b.function()->result = ValueType::Void;
    b.function()->body = b.make<hir::Block>(function.range);
    build_block(b, *function.body, b.file, *b.function()->body);
    // Without a `return`, the result is 0 or "", depending on its use (Inference::settle()).
    b.function()->may_give_nothing = !b.returns_value;
    if (b.function()->result == ValueType::Unknown && !b.returns_value && b.returns_nothing)
        b.function()->result = ValueType::Void;
}

} // namespace sonde
