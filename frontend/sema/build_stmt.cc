// Statements, functions, handlers, and the sharing of bodies between points.
#include <utility>

#include <fmt/format.h>

#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

void BodyBuilder::build_block(const ast::BlockStmt& block, FileId file, hir::Block& out) {
    FileId saved = std::exchange(file_, file);
    append(block.body, out);
    file_ = saved;
}

void BodyBuilder::append(const std::vector<ast::Stmt*>& stmts, hir::Block& out) {
    bool left = false;
    for (const ast::Stmt* stmt : stmts) {
        if (left && stmt->kind != ast::StmtKind::Empty) {
            a_.diags_.report(DiagId::Unreachable, stmt->range, "this statement is never reached");
            left = false;
        }
        if (hir::Stmt* built = build_stmt(*stmt))
            out.body.push_back(built);
        left = stmt->kind == ast::StmtKind::Next || stmt->kind == ast::StmtKind::Return ||
               stmt->kind == ast::StmtKind::Break || stmt->kind == ast::StmtKind::Continue;
    }
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
        if (std::optional<bool> value = known(*s.condition)) {
            const ast::Stmt* taken = *value ? s.then_body : s.else_body;
            return taken ? build_stmt(*taken) : nullptr;
        }
        hir::Expr* condition = build(*s.condition);
        hir::Stmt* then_body = build_stmt(*s.then_body);
        hir::Stmt* else_body = s.else_body ? build_stmt(*s.else_body) : nullptr;
        return make<hir::If>(range, condition, then_body ? then_body : make<hir::Block>(range), else_body);
    }
    case StmtKind::While: {
        const auto& s = ast::as<ast::WhileStmt>(stmt);
        auto* loop = make<hir::Loop>(range);
        loop->condition = build(*s.condition);
        loop->body = build_stmt(*s.body);
        return loop;
    }
    case StmtKind::For: {
        const auto& s = ast::as<ast::ForStmt>(stmt);
        auto* loop = make<hir::Loop>(range);
        loop->init = s.init ? effect(*s.init) : nullptr;
        loop->condition = s.condition ? build(*s.condition) : nullptr;
        loop->body = build_stmt(*s.body);
        loop->step = s.step ? effect(*s.step) : nullptr;
        return loop;
    }
    case StmtKind::Foreach:
        return build_foreach(ast::as<ast::ForeachStmt>(stmt));
    case StmtKind::Break:
        return make<hir::Break>(range);
    case StmtKind::Continue:
        return make<hir::Continue>(range);
    case StmtKind::Next:
        if (function_)
            a_.diags_.report(DiagId::Unsupported, range, "`next` between overloaded functions is not supported yet");
        return make<hir::Next>(range);
    case StmtKind::Return: {
        const auto& s = ast::as<ast::ReturnStmt>(stmt);
        returns_value_ = returns_value_ || s.value;
        return make<hir::Return>(range, s.value ? build(*s.value) : nullptr);
    }
    case StmtKind::Delete:
        return build_delete(ast::as<ast::DeleteStmt>(stmt));
    case StmtKind::Try: {
        const auto& s = ast::as<ast::TryStmt>(stmt);
        hir::Stmt* body = build_stmt(*s.body);
        hir::Local* message = nullptr;
        if (!s.variable.empty()) {
            if (a_.find_global(s.variable, file_) && !names_.count(s.variable))
                a_.diags_.report(
                    DiagId::TypeMismatch, s.variable_range,
                    fmt::format("`{}` is a global, and the message of `catch` is a local variable", s.variable));
            message = declare(s.variable, s.variable_range);
            a_.assigned_.insert(message);
            a_.read_.insert(message);
        }
        return make<hir::Try>(range, body, message, build_stmt(*s.handler));
    }
    case StmtKind::Empty:
        return nullptr;
    }
    UNREACHABLE("statement kind");
}

hir::Stmt* BodyBuilder::build_foreach(const ast::ForeachStmt& s) {
    auto* loop = make<hir::Foreach>(s.range);
    loop->sort_direction = s.sort_direction;
    loop->sort_column = s.sort_column;
    if (s.sort_extractor)
        loop->sort_stat = static_cast<hir::StatValue>(*s.sort_extractor);
    if (s.limit)
        loop->limit = build(*s.limit);
    const ast::Expr& collection = *s.collection;
    if (collection.kind == ast::ExprKind::Statistic) {
        const auto& statistic = ast::as<ast::StatisticExpr>(collection);
        if (statistic.extractor < ast::Extractor::HistLog || s.keys.size() != 1 || !s.value.empty()) {
            a_.diags_.report(DiagId::BadStatistic, collection.range,
                             "only a histogram's buckets can be walked over, with one variable");
            return nullptr;
        }
        loop->histogram = build_stats_source(*statistic.operand);
        if (!loop->histogram)
            return nullptr;
        plan::StatsNeeds needs;
        set_histogram(*loop->histogram, statistic, needs);
    } else {
        Range name_range = collection.range;
        std::string name;
        if (collection.kind == ast::ExprKind::Name) {
            name = ast::as<ast::NameExpr>(collection).name;
        } else if (collection.kind == ast::ExprKind::Index) {
            name = ast::as<ast::IndexExpr>(collection).name;
            name_range = ast::as<ast::IndexExpr>(collection).name_range;
        } else {
            a_.diags_.report(DiagId::TypeMismatch, collection.range,
                             fmt::format("`{}` is no array", ast::to_source(collection)));
            return nullptr;
        }
        loop->array = array(name, name_range);
        if (!loop->array)
            return nullptr;
        if (collection.kind == ast::ExprKind::Index)
            loop->slice = build_keys(ast::as<ast::IndexExpr>(collection).keys, true, *loop->array, collection.range);
        if (loop->array->keys.empty()) {
            loop->array->keys.assign(s.keys.size(), ValueType::Unknown);
            a_.fixed_at_.try_emplace(&loop->array->keys, s.range);
        } else if (loop->array->keys.size() != s.keys.size()) {
            a_.diags_
                .report(DiagId::Arity, name_range,
                        fmt::format("array `{}` has {} key{}, not {}", name, loop->array->keys.size(),
                                    loop->array->keys.size() == 1 ? "" : "s", s.keys.size()))
                .note(a_.fixed_at_[&loop->array->keys], "used with that many keys here");
            return nullptr;
        }
    }
    auto variable = [&](const std::string& name, Range range) {
        if (!names_.count(name) && a_.find_global(name, file_))
            a_.diags_.report(DiagId::TypeMismatch, range,
                             fmt::format("`{}` is a global, and foreach takes local variables", name));
        hir::Local* local = declare(name, range);
        a_.assigned_.insert(local);
        a_.read_.insert(local);
        return local;
    };
    for (size_t i = 0; i < s.keys.size(); i++)
        loop->keys.push_back(variable(s.keys[i], s.key_ranges[i]));
    if (!s.value.empty())
        loop->value = variable(s.value, s.value_range);
    loop->body = build_stmt(*s.body);
    if (!loop->body)
        loop->body = make<hir::Block>(s.range);
    return loop;
}

hir::Stmt* BodyBuilder::build_delete(const ast::DeleteStmt& s) {
    if (s.target->kind == ast::ExprKind::Name) {
        const auto& name = ast::as<ast::NameExpr>(*s.target);
        if (names_.find(name.name) == names_.end())
            if (hir::Global* global = a_.find_global(name.name, file_))
                return make<hir::Delete>(s.range, global, std::vector<hir::Expr*>());
        // A local: back to nothing.
        hir::Local* local = declare(name.name, name.range);
        a_.assigned_.insert(local);
        a_.diags_.report(DiagId::TypeMismatch, name.range,
                         fmt::format("`delete` takes a global, and `{}` is a local variable", name.name));
        return nullptr;
    }
    if (s.target->kind != ast::ExprKind::Index)
        return nullptr;
    const auto& index = ast::as<ast::IndexExpr>(*s.target);
    hir::Global* global = array(index.name, index.name_range);
    if (!global)
        return nullptr;
    return make<hir::Delete>(s.range, global, build_keys(index.keys, true, *global, s.range));
}

// ---- functions --------------------------------------------------------------------------------------------------

hir::Function* Analyzer::instantiate(FunctionEntry& entry) {
    if (entry.hir)
        return entry.hir;
    auto* function = arena_.make<hir::Function>();
    entry.hir = function;
    function->name = entry.ast->name;
    function->range = entry.ast->name_range;
    // Names have to be unique in the Program: overloads and private ones get their place.
    for (const hir::Function* other : program_->functions)
        if (other->name == function->name)
            function->name = fmt::format("{}.{}", entry.ast->name, program_->functions.size());
    if (entry.ast->result == ast::DeclaredType::Long)
        function->result = ValueType::Long;
    else if (entry.ast->result == ast::DeclaredType::String)
        function->result = ValueType::String;
    if (function->result != ValueType::Unknown)
        fixed_at_[function] = entry.ast->name_range;
    program_->functions.push_back(function);
    pending_.push_back(&entry);
    return function;
}

void Analyzer::build_pending_functions() {
    while (!pending_.empty()) {
        FunctionEntry& entry = *pending_.front();
        pending_.pop_front();
        hir::Function& function = *entry.hir;
        std::vector<hir::Local*> locals;
        BodyBuilder builder(*this, entry.file, locals, nullptr, nullptr, &function);
        for (const ast::Parameter& param : entry.ast->params) {
            hir::Local* local = builder.declare(param.name, param.range);
            assigned_.insert(local);
            if (param.type != ast::DeclaredType::None) {
                local->type = param.type == ast::DeclaredType::Long ? ValueType::Long : ValueType::String;
                fixed_at_[local] = param.range;
            }
            function.params.push_back(local);
        }
        function.body = arena_.make<hir::Block>(entry.ast->range);
        builder.build_block(*entry.ast->body, entry.file, *function.body);
        function.locals.assign(locals.begin() + static_cast<ptrdiff_t>(function.params.size()), locals.end());
        if (function.result == ValueType::Unknown && !builder.returns_value())
            function.result = ValueType::Void;
    }
}

// ---- handlers ---------------------------------------------------------------------------------------------------

hir::Handler* Analyzer::build_handler(const ast::Probe& probe, FileId file, const Resolved& resolved, bool keep) {
    auto* handler = arena_.make<hir::Handler>();
    handler->range = probe.range;
    handler->kind = resolved.point.kind;
    handler->in_kernel = resolved.point.in_kernel || options_.kernel_host_probes;
    handler->timer = resolved.point.timer;
    handler->order = resolved.point.order;
    handler->body = arena_.make<hir::Block>(probe.range);
    BodyBuilder builder(*this, file, handler->locals, &resolved.point, handler, nullptr);
    for (const ExpandedPoint::Condition& condition : resolved.expanded.conditions) {
        hir::Expr* value = builder.build_condition(*condition.expr, condition.file);
        handler->condition =
            handler->condition ? arena_.make<hir::Logical>(value->range, true, handler->condition, value) : value;
    }
    for (const ExpandedPoint::Piece& piece : resolved.expanded.prologues)
        builder.build_block(*piece.block, piece.file, *handler->body);
    builder.build_block(*probe.body, file, *handler->body);
    for (const ExpandedPoint::Piece& piece : resolved.expanded.epilogues)
        builder.build_block(*piece.block, piece.file, *handler->body);
    if (keep) {
        handler->name = fmt::format("probe_{}", program_->handlers.size());
        program_->handlers.push_back(handler);
    }
    return handler;
}

void Analyzer::build_probe(const ast::Probe& probe, FileId file) {
    std::vector<Resolved> points = resolve(probe.points, file);
    // What has to be equal besides the body for two points to share a handler.
    auto frame_key = [](const Resolved& r) {
        std::string key = fmt::format("{} {} {} {} {}", static_cast<int>(r.point.kind), r.point.order,
                                      r.point.timer.interval_ns, r.point.timer.random_ns, r.point.in_kernel);
        for (const ExpandedPoint::Piece& piece : r.expanded.prologues)
            key += fmt::format(" {}", static_cast<const void*>(piece.block));
        for (const ExpandedPoint::Piece& piece : r.expanded.epilogues)
            key += fmt::format(" /{}", static_cast<const void*>(piece.block));
        for (const ExpandedPoint::Condition& condition : r.expanded.conditions)
            key += fmt::format(" ?{}", static_cast<const void*>(condition.expr));
        return key;
    };
    std::map<std::string, hir::Handler*> by_frame, by_body;
    for (const Resolved& resolved : points) {
        bool dependent = depends_on_point(*probe.body);
        for (const auto* pieces : {&resolved.expanded.prologues, &resolved.expanded.epilogues})
            for (const ExpandedPoint::Piece& piece : *pieces)
                dependent = dependent || depends_on_point(*piece.block);
        if (resolved.point.kind == plan::ProbeKind::Never) {
            hir::Handler* handler = build_handler(probe, file, resolved, false);
            never_handlers_.push_back(handler);
            continue;
        }
        bool host = !resolved.point.in_kernel && !options_.kernel_host_probes;
        std::string key = frame_key(resolved);
        if (host && resolved.point.kind == plan::ProbeKind::Timer)
            key += resolved.point.point.pp; // every timer keeps its own time
        if (!dependent) {
            hir::Handler*& shared = by_frame[key];
            if (!shared)
                shared = build_handler(probe, file, resolved, true);
            shared->points.push_back(resolved.point.point);
            continue;
        }
        size_t errors = diags_.error_count();
        hir::Handler* handler = build_handler(probe, file, resolved, false);
        if (diags_.error_count() > errors)
            return; // the other points would only say it again
        hir::Handler*& shared = by_body[key + "\n" + hir::dump_body(*handler)];
        if (!shared) {
            shared = handler;
            handler->name = fmt::format("probe_{}", program_->handlers.size());
            program_->handlers.push_back(handler);
        }
        shared->points.push_back(resolved.point.point);
    }
}

} // namespace sonde
