// Functions: built once, when something calls them; those that mention the probe point, once for each.
#include <algorithm>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/hir/identity.h"
#include "frontend/hir/walk.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

using hir::ValueType;

hir::Function* Analyzer::declare_function(const FunctionEntry& entry) {
    auto* function = c_.arena.make<hir::Function>();
    function->name = entry.ast->name;
    function->range = entry.ast->name_range;
    // Names are unique in the Program: overloads, private functions of one name and instances get a number.
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
        notes_.fixed_at[function] = entry.ast->name_range;
    // Calls can be built before the body is.
    for (const ast::Parameter& param : entry.ast->params) {
        auto* local = c_.arena.make<hir::Local>();
        local->name = param.name;
        local->range = param.range;
        local->index = static_cast<uint32_t>(function->params.size());
        if (param.type != ast::DeclaredType::None) {
            local->type = param.type == ast::DeclaredType::Long ? ValueType::Long : ValueType::String;
            notes_.fixed_at[local] = param.range;
        }
        notes_.assigned.insert(local);
        notes_.bound.insert(local);
        function->params.push_back(local);
    }
    program_->functions.push_back(function);
    return function;
}

hir::Function* Analyzer::instantiate(FunctionEntry& entry) {
    if (!entry.hir) {
        entry.hir = declare_function(entry);
        pending_.push_back(&entry);
    }
    return entry.hir;
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

namespace {

// Parameters first, then locals; entry values have become parameters while the body was built.
void number_locals(hir::Function& function, const std::vector<hir::Local*>& locals) {
    for (hir::Local* local : locals)
        if (std::find(function.params.begin(), function.params.end(), local) == function.params.end())
            function.locals.push_back(local);
    uint32_t next = 0;
    for (auto* list : {&function.params, &function.locals})
        for (hir::Local* local : *list)
            local->index = next++;
}

} // namespace

void Analyzer::build_pending_functions() {
    while (!pending_.empty()) {
        FunctionEntry& entry = *pending_.front();
        pending_.pop_front();
        std::vector<hir::Local*> locals;
        BodyBuilder(*this, entry, locals).build_function(*entry.ast);
        number_locals(*entry.hir, locals);
    }
}

// Where the kernel has a symbol is known when the session begins.
hir::Expr* Analyzer::symbol_address(const std::string& symbol, Range range) {
    hir::Global*& global = notes_.addresses[symbol];
    if (!global) {
        global = c_.arena.make<hir::Global>();
        // A name that no script can write.
        global->name = fmt::format("address.{}", symbol);
        global->range = range;
        global->type = hir::ValueType::Long;
        global->address_of = symbol;
    }
    return c_.arena.make<hir::GlobalRef>(range, global);
}

hir::Function* Analyzer::define(hir::Function& function) {
    uint32_t next = 0;
    for (auto* list : {&function.params, &function.locals})
        for (hir::Local* local : *list) {
            local->index = next++;
            notes_.assigned.insert(local);
            notes_.bound.insert(local);
        }
    hir::Function*& known = readers_[hir::identity(function)];
    if (!known) {
        // A name that no script can write.
        function.name = fmt::format("value.{}", readers_.size());
        program_->functions.push_back(&function);
        known = &function;
    }
    return known;
}

// What a function calls itself with goes on to know what its caller knew.
void Analyzer::finish_open_calls(Instance& instance) {
    size_t written = instance.entry->ast->params.size();
    const std::vector<hir::Local*>& params = instance.function->params;
    for (auto [call, from] : instance.open_calls) {
        if (from != instance.function && params.size() > written)
            c_.report_once(
                  DiagId::Unsupported, call->range,
                  fmt::format("`{}` and `{}` call each other, which what is known at the probed function's entry "
                              "does not survive",
                              from->name, instance.function->name))
                .help("pass the value as an argument");
        for (size_t i = written; i < params.size(); i++)
            call->args.push_back(c_.arena.make<hir::LocalRef>(call->range, params[i]));
    }
}

// Built at once, since what it needs from the entry is part of the call, and so that instances that come out the same
// are one.
Analyzer::Instance& Analyzer::instantiate(FunctionEntry& entry, const ResolvedPoint& point, const hir::Handler& handler,
                                          bool inside_entry, std::vector<const Type*> arguments) {
    for (Instance& have : instances_)
        if (have.entry == &entry && have.handler == &handler && have.inside_entry == inside_entry &&
            have.arguments == arguments)
            return have;
    Instance& instance = instances_.emplace_back();
    instance.entry = &entry;
    instance.handler = &handler;
    instance.inside_entry = inside_entry;
    instance.arguments = std::move(arguments);
    instance.function = declare_function(entry);
    hir::Function& function = *instance.function;
    for (size_t i = 0; i < instance.arguments.size(); i++)
        if (instance.arguments[i])
            notes_.c_types_of_variables[function.params[i]] = {instance.arguments[i]};
    std::vector<hir::Local*> locals;
    BodyBuilder(*this, instance, locals, point).build_function(*entry.ast);
    number_locals(function, locals);
    instance.complete = true;
    finish_open_calls(instance);
    if (!instance.open_calls.empty()) // it calls itself, so its name is in it
        return instance;
    auto key = [](const Instance& of) {
        std::string out = hir::identity(*of.function);
        for (const hir::Expr* value : of.entry_values)
            out += hir::identity(*value);
        return out;
    };
    std::string mine = key(instance);
    for (Instance& have : instances_)
        if (&have != &instance && have.entry == &entry && have.complete && have.open_calls.empty() &&
            key(have) == mine) {
            std::vector<hir::Function*>& functions = program_->functions;
            functions.erase(std::find(functions.begin(), functions.end(), instance.function));
            instance.function = have.function;
            break;
        }
    return instance;
}

// ---- what a body mentions of its probe point ----------------------------------------------------------------------

namespace {
bool writes_target(const ast::Expr& expr) {
    const ast::Expr* target = nullptr;
    if (expr.kind == ast::ExprKind::Assign)
        target = ast::as<ast::AssignExpr>(expr).target;
    else if (expr.kind == ast::ExprKind::IncDec)
        target = ast::as<ast::IncDecExpr>(expr).target;
    return target && (target->kind == ast::ExprKind::Target || target->kind == ast::ExprKind::Member);
}

bool reads_register(const ast::Expr& expr) {
    if (expr.kind == ast::ExprKind::AtOperator)
        return ast::as<ast::AtOperatorExpr>(expr).name == "@kregister";
    if (expr.kind != ast::ExprKind::Call)
        return false;
    const hir::Primitive* primitive = hir::find_primitive(ast::as<ast::CallExpr>(expr).name);
    return primitive && primitive->reads_registers;
}
} // namespace

Analyzer::Reach Analyzer::reach_of(const ast::Stmt& body, FileId file) {
    Reach reach;
    // A list, and no recursion: functions may call each other as deep as they like.
    std::vector<std::pair<const ast::Stmt*, FileId>> todo = {{&body, file}};
    std::set<const FunctionEntry*> seen;
    while (!todo.empty()) {
        auto [stmt, from] = todo.back();
        todo.pop_back();
        for_each_expr(*stmt, [&, from = from](const ast::Expr& expr) {
            reach.point = reach.point || mentions_point(expr);
            if (expr.kind == ast::ExprKind::Target)
                reach.targets.push_back(&ast::as<ast::TargetExpr>(expr));
            reach.writes = reach.writes || writes_target(expr);
            reach.registers = reach.registers || reads_register(expr);
            if (expr.kind == ast::ExprKind::AddressOf) {
                const ast::Expr& operand = *ast::as<ast::AddressOfExpr>(expr).operand;
                reach.address = reach.address || (operand.kind == ast::ExprKind::Target &&
                                                  ast::as<ast::TargetExpr>(operand).components.empty());
            }
            if (expr.kind != ast::ExprKind::Call)
                return;
            const auto& call = ast::as<ast::CallExpr>(expr);
            std::vector<FunctionEntry*> callees = names_.overloads(call.name, call.args.size(), from);
            if (callees.empty()) {
                names_.pull_in_function(call.name);
                callees = names_.overloads(call.name, call.args.size(), from);
            }
            for (FunctionEntry* callee : callees)
                if (callee->ast->body && seen.insert(callee).second)
                    todo.emplace_back(callee->ast->body, callee->file);
        });
    }
    return reach;
}

const Analyzer::Reach& Analyzer::reach_of(FunctionEntry& entry) {
    auto [known, fresh] = reaches_.try_emplace(&entry);
    if (fresh && entry.ast->body)
        known->second = reach_of(*entry.ast->body, entry.file);
    return known->second;
}

// ---- what nobody calls --------------------------------------------------------------------------------------------

bool Analyzer::is_called(const FunctionEntry& entry, const std::set<const hir::Function*>& called) const {
    if (entry.hir && called.count(entry.hir))
        return true;
    return std::any_of(instances_.begin(), instances_.end(), [&](const Instance& instance) {
        return instance.entry == &entry && called.count(instance.function) > 0;
    });
}

void Analyzer::drop_uncalled_functions() {
    std::set<const hir::Function*> called;
    std::vector<const hir::Function*> todo;
    auto note_call = [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Call && called.insert(hir::as<hir::Call>(expr).callee).second)
            todo.push_back(hir::as<hir::Call>(expr).callee);
    };
    for (const auto* handlers : {&program_->handlers, &notes_.never_handlers})
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
    for (size_t i = 0; i < names_.functions().size(); i++) {
        FunctionEntry& entry = names_.functions()[i];
        if (c_.diags.sources().is_tapset(entry.file) || is_called(entry, called))
            continue;
        uncalled.push_back(entry.ast);
        if (!entry.hir && entry.ast->body && entry.ast->embedded.empty() && !reach_of(entry).point) {
            instantiate(entry);
            build_pending_functions();
        }
    }
    if (!c_.options.unoptimized && !c_.diags.has_errors())
        for (const ast::Function* function : uncalled)
            c_.report_once(DiagId::UnusedVariable, function->name_range,
                           fmt::format("function `{}` is never called", function->name));
    program_->functions = std::move(kept);
}

} // namespace sonde
