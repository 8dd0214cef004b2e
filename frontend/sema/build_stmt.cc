// Statements: trees to HIR.
#include <utility>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

void BodyBuilder::build_block(const ast::BlockStmt& block, FileId file, hir::Block& out) {
    FileId saved = std::exchange(file_, file);
    append(block.body, out);
    file_ = saved;
}

void BodyBuilder::append(const std::vector<ast::Stmt*>& stmts, hir::Block& out) {
    const ast::Stmt* leaves = nullptr; // the statement after which nothing runs
    bool reported = false;
    for (const ast::Stmt* stmt : stmts) {
        if (leaves && !reported && stmt->kind != ast::StmtKind::Empty) {
            c_.report_once(DiagId::Unreachable, stmt->range, "this statement is never reached")
                .note(leaves->range, "because of this");
            reported = true;
        }
        if (hir::Stmt* built = build_stmt(*stmt))
            out.body.push_back(built);
        if (stmt->kind == ast::StmtKind::Next || stmt->kind == ast::StmtKind::Return ||
            stmt->kind == ast::StmtKind::Break || stmt->kind == ast::StmtKind::Continue)
            leaves = stmt;
    }
}

hir::Stmt* BodyBuilder::build_body(const ast::Stmt& stmt) {
    hir::Stmt* built = build_stmt(stmt);
    return built ? built : make<hir::Block>(stmt.range);
}

hir::Stmt* BodyBuilder::build_stmt(const ast::Stmt& stmt) {
    using ast::StmtKind;
    Range range = stmt.range;
    switch (stmt.kind) {
    case StmtKind::Block: {
        auto* block = make<hir::Block>(range);
        append(ast::as<ast::BlockStmt>(stmt).body, *block);
        return block;
    }
    case StmtKind::Expression:
        return make<hir::ExprStmt>(range, effect(*ast::as<ast::ExprStmt>(stmt).expr));
    case StmtKind::If: {
        const auto& s = ast::as<ast::IfStmt>(stmt);
        if (s.condition->kind != ast::ExprKind::Number)
            if (std::optional<bool> value = known(*s.condition)) {
                const ast::Stmt* taken = *value ? s.then_body : s.else_body;
                return taken ? build_stmt(*taken) : nullptr;
            }
        hir::Expr* condition = build(*s.condition);
        hir::Stmt* then_body = build_body(*s.then_body);
        return make<hir::If>(range, condition, then_body, s.else_body ? build_stmt(*s.else_body) : nullptr);
    }
    case StmtKind::While:
    case StmtKind::For:
        return build_loop(stmt);
    case StmtKind::Foreach:
        return build_foreach(ast::as<ast::ForeachStmt>(stmt));
    case StmtKind::Break:
        return make<hir::Break>(range);
    case StmtKind::Continue:
        return make<hir::Continue>(range);
    case StmtKind::Next:
        return function_ ? build_next_overload(range) : make<hir::Next>(range);
    case StmtKind::Return: {
        const auto& s = ast::as<ast::ReturnStmt>(stmt);
        (s.value ? returns_value_ : returns_nothing_) = true;
        hir::Expr* value = s.value ? build(*s.value) : nullptr;
        if (value && function_ && function_->bare_return.valid()) {
            auto* block = make<hir::Block>(range);
            block->body.push_back(make<hir::ExprStmt>(range, value));
            block->body.push_back(make<hir::Return>(range, nullptr));
            return block;
        }
        if (value)
            note_c_type(notes_, function_, *value);
        return make<hir::Return>(range, value);
    }
    case StmtKind::Delete:
        return build_delete(ast::as<ast::DeleteStmt>(stmt));
    case StmtKind::Try:
        return build_try(ast::as<ast::TryStmt>(stmt));
    case StmtKind::Empty:
        return nullptr;
    }
    UNREACHABLE("statement kind");
}

hir::Stmt* BodyBuilder::build_loop(const ast::Stmt& stmt) {
    auto* loop = make<hir::Loop>(stmt.range);
    if (stmt.kind == ast::StmtKind::While) {
        const auto& s = ast::as<ast::WhileStmt>(stmt);
        loop->condition = build(*s.condition);
        loop->body = build_body(*s.body);
        return loop;
    }
    const auto& s = ast::as<ast::ForStmt>(stmt);
    loop->init = s.init ? effect(*s.init) : nullptr;
    loop->condition = s.condition ? build(*s.condition) : nullptr;
    loop->body = build_body(*s.body);
    loop->step = s.step ? effect(*s.step) : nullptr;
    return loop;
}

hir::Local* BodyBuilder::bind(const std::string& name, Range range, std::vector<hir::Stmt*>& copies) {
    hir::Global* global = find_local(name) ? nullptr : find_global(name);
    // A name that no script can write; its number keeps loops apart.
    hir::Local* local = declare(global ? fmt::format("{}.{}", name, locals_.size()) : name, range);
    notes_.assigned.insert(local);
    notes_.bound.insert(local);
    if (global && known_.use_as(*global, Shape::Scalar, range)) {
        auto* copy = make<hir::Assign>(range, make<hir::GlobalRef>(range, global), make<hir::LocalRef>(range, local));
        copy->value_unused = true;
        copies.push_back(make<hir::ExprStmt>(range, copy));
    }
    return local;
}

hir::Stmt* BodyBuilder::prepend(const std::vector<hir::Stmt*>& first, hir::Stmt* body) {
    if (first.empty())
        return body;
    auto* block = make<hir::Block>(body->range);
    block->body = first;
    block->body.push_back(body);
    return block;
}

bool BodyBuilder::build_collection(const ast::ForeachStmt& s, hir::Foreach& loop) {
    const ast::Expr& collection = *s.collection;
    if (collection.kind == ast::ExprKind::Statistic) {
        const auto& statistic = ast::as<ast::StatisticExpr>(collection);
        if (statistic.extractor < ast::Extractor::HistLog || s.keys.size() != 1) {
            c_.report_once(DiagId::BadStatistic, collection.range,
                           "of statistics, only a histogram's buckets can be walked over, with one variable");
            return false;
        }
        if (s.sort_extractor) {
            c_.report_once(DiagId::BadStatistic, collection.range,
                           "the buckets of a histogram are numbers, not statistics")
                .help("`+` or `-` after the histogram sorts by count");
            return false;
        }
        loop.histogram = build_stats_source(*statistic.operand);
        if (loop.histogram)
            need_histogram(*loop.histogram, statistic);
        return loop.histogram;
    }
    if (collection.kind != ast::ExprKind::Name && collection.kind != ast::ExprKind::Index) {
        c_.report_once(DiagId::TypeMismatch, collection.range,
                       fmt::format("`{}` is no array", ast::to_source(collection)));
        return false;
    }
    bool sliced = collection.kind == ast::ExprKind::Index;
    Range range = sliced ? ast::as<ast::IndexExpr>(collection).name_range : collection.range;
    loop.array =
        array(sliced ? ast::as<ast::IndexExpr>(collection).name : ast::as<ast::NameExpr>(collection).name, range);
    if (!loop.array)
        return false;
    if (sliced)
        loop.slice = build_keys(ast::as<ast::IndexExpr>(collection).keys, true, *loop.array, collection.range);
    Range keys = s.key_ranges.empty() ? range : Range::join(s.key_ranges.front(), s.key_ranges.back());
    return check_key_count(*loop.array, s.keys.size(), keys);
}

hir::Stmt* BodyBuilder::build_foreach(const ast::ForeachStmt& s) {
    auto* loop = make<hir::Foreach>(s.range);
    loop->sort_direction = s.sort_direction;
    loop->sort_column = s.sort_direction ? s.sort_column : 0;
    if (s.sort_extractor) {
        loop->sort_stat = static_cast<hir::StatValue>(*s.sort_extractor);
        notes_.stat_sorted[loop] = s.collection->range;
    }
    if (s.limit)
        loop->limit = build(*s.limit);
    if (!build_collection(s, *loop)) {
        // The body is built all the same, for its own errors.
        std::vector<hir::Stmt*> copies;
        for (size_t i = 0; i < s.keys.size(); i++)
            bind(s.keys[i], s.key_ranges[i], copies);
        build_body(*s.body);
        return nullptr;
    }
    std::vector<hir::Stmt*> copies;
    for (size_t i = 0; i < s.keys.size(); i++)
        loop->keys.push_back(bind(s.keys[i], s.key_ranges[i], copies));
    if (!s.value.empty())
        loop->value = bind(s.value, s.value_range, copies);
    loop->body = prepend(copies, build_body(*s.body));
    return loop;
}

hir::Stmt* BodyBuilder::build_delete(const ast::DeleteStmt& s) {
    if (s.target->kind == ast::ExprKind::Index) {
        const auto& index = ast::as<ast::IndexExpr>(*s.target);
        hir::Global* global = array(index.name, index.name_range);
        if (!global)
            return nullptr;
        return make<hir::Delete>(s.range, global, build_keys(index.keys, true, *global, s.target->range));
    }
    if (s.target->kind != ast::ExprKind::Name) // the parser has said so
        return nullptr;
    const std::string& name = ast::as<ast::NameExpr>(*s.target).name;
    if (!find_local(name))
        if (hir::Global* global = find_global(name))
            return make<hir::Delete>(s.range, global, std::vector<hir::Expr*>());
    // A local goes back to 0 or "": infer.cc puts in which.
    hir::Local* local = declare(name, s.target->range);
    notes_.assigned.insert(local);
    auto* reset = make<hir::Assign>(s.range, make<hir::LocalRef>(s.target->range, local), zero(s.range));
    reset->value_unused = true;
    notes_.resets.insert(reset);
    return make<hir::ExprStmt>(s.range, reset);
}

hir::Stmt* BodyBuilder::build_try(const ast::TryStmt& s) {
    hir::Stmt* body = build_body(*s.body);
    hir::Local* message = nullptr;
    std::vector<hir::Stmt*> copies;
    if (!s.variable.empty())
        message = bind(s.variable, s.variable_range, copies);
    if (message && message->type == ValueType::Unknown) {
        message->type = ValueType::String;
        notes_.fixed_at[message] = s.variable_range;
    }
    return make<hir::Try>(s.range, body, message, prepend(copies, build_body(*s.handler)));
}

void BodyBuilder::build_function(const ast::Function& function) {
    for (hir::Local* param : function_->params) {
        names_[param->name] = param;
        locals_.push_back(param);
    }
    for_each_stmt(*function.body, [&](const ast::Stmt& stmt) {
        if (stmt.kind == ast::StmtKind::Return && !ast::as<ast::ReturnStmt>(stmt).value)
            function_->bare_return = stmt.range;
    });
    if (function_->bare_return.valid())
        function_->result = ValueType::Void;
    function_->body = make<hir::Block>(function.range);
    build_block(*function.body, file_, *function_->body);
    // Without any return, what it gives is 0 or "", by its use; see Inference::settle().
    function_->may_give_nothing = !returns_value_;
    if (function_->result == ValueType::Unknown && !returns_value_ && returns_nothing_)
        function_->result = ValueType::Void;
}

} // namespace sonde
