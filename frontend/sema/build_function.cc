// Functions: built once, when something calls them.
#include <fmt/format.h>

#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

hir::Function* Analyzer::instantiate(FunctionEntry& entry) {
    if (entry.hir)
        return entry.hir;
    auto* function = arena_.make<hir::Function>();
    entry.hir = function;
    function->name = entry.ast->name;
    function->range = entry.ast->name_range;
    // Names are unique in the Program: overloads and private functions of one name get a number.
    auto taken = [&](const std::string& name) {
        for (const hir::Function* other : program_->functions)
            if (other->name == name)
                return true;
        return false;
    };
    for (int n = 2; taken(function->name); n++)
        function->name = fmt::format("{}__{}", entry.ast->name, n);
    if (entry.ast->result == ast::DeclaredType::Long)
        function->result = ValueType::Long;
    else if (entry.ast->result == ast::DeclaredType::String)
        function->result = ValueType::String;
    if (function->result != ValueType::Unknown)
        fixed_at_[function] = entry.ast->name_range;
    // Calls can be built before the body is.
    for (const ast::Parameter& param : entry.ast->params) {
        auto* local = arena_.make<hir::Local>();
        local->name = param.name;
        local->range = param.range;
        local->index = static_cast<uint32_t>(function->params.size());
        if (param.type != ast::DeclaredType::None) {
            local->type = param.type == ast::DeclaredType::Long ? ValueType::Long : ValueType::String;
            fixed_at_[local] = param.range;
        }
        assigned_.insert(local);
        bound_.insert(local);
        function->params.push_back(local);
    }
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
        for (hir::Local* param : function.params)
            builder.add_parameter(*param);
        function.body = arena_.make<hir::Block>(entry.ast->range);
        builder.build_block(*entry.ast->body, entry.file, *function.body);
        function.locals.assign(locals.begin() + static_cast<ptrdiff_t>(function.params.size()), locals.end());
        if (function.result == ValueType::Unknown && !builder.returns_value())
            function.result = ValueType::Void;
    }
}

void Analyzer::drop_uncalled_functions() {
    std::set<const hir::Function*> called;
    std::vector<const hir::Function*> todo;
    auto note_call = [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Call && called.insert(hir::as<hir::Call>(expr).callee).second)
            todo.push_back(hir::as<hir::Call>(expr).callee);
    };
    for (const auto* handlers : {&program_->handlers, &never_handlers_})
        for (const hir::Handler* handler : *handlers)
            for_each_expr(*handler, note_call);
    while (!todo.empty()) {
        const hir::Function* function = todo.back();
        todo.pop_back();
        for_each_expr(*function->body, note_call);
    }
    std::vector<hir::Function*> kept;
    for (hir::Function* function : program_->functions)
        if (called.count(function))
            kept.push_back(function);
    std::vector<const ast::Function*> uncalled;
    // By index: looking at a function can bring in library files with more.
    for (size_t i = 0; i < function_entries_.size(); i++) {
        FunctionEntry& entry = function_entries_[i];
        if (diags_.sources().is_tapset(entry.file) || (entry.hir && called.count(entry.hir)))
            continue;
        uncalled.push_back(entry.ast);
        if (!entry.hir && entry.ast->body && entry.ast->embedded.empty() && !depends_on_point(*entry.ast->body)) {
            instantiate(entry);
            build_pending_functions();
        }
    }
    if (!options_.unoptimized && !diags_.has_errors())
        for (const ast::Function* function : uncalled)
            report_once(DiagId::UnusedVariable, function->name_range,
                        fmt::format("function `{}` is never called", function->name));
    program_->functions = std::move(kept);
}

} // namespace sonde
