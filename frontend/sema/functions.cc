// Builds functions when they are first called. A function that mentions the probe point is built for each point.
//
// Example: a library function reads `$fd`. Called from two probes, `$fd` is in different registers, so each probe gets
// an instance of the function. If both instances turn out to be equal (hir::identity), they are merged again. A
// function that does not mention the point is built once.
//
// An instance can need a value from the entry of the probed function. It gets this as an additional parameter, whose
// number is known only when the body is built. Calls to other functions are therefore built after the callee. A
// recursive call is the exception: it is noted in `open_calls` and completed at the end.
#include "frontend/sema/functions.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/hir/identity.h"
#include "frontend/hir/walk.h"
#include "frontend/sema/build_stmt.h"

namespace sonde {

using hir::ValueType;

// Creates a function without its body. Declared types are final; the others follow from the uses.
hir::Function* Functions::declare(const NamedFunction& entry) {
    auto* function = c_.arena.make<hir::Function>();
    function->name = entry.ast->name;
    function->range = entry.ast->name_range;
    // Function names are unique in the Program. Overloads, private functions with equal names, and instances get a
    // number.
    auto taken = [&](const std::string& name) {
        for (const hir::Function* other : program_.functions)
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
        tables_.fixed_at[function] = entry.ast->name_range;
    // Declare the parameters now, because calls may be built before the body.
    for (const ast::Parameter& param : entry.ast->params) {
        auto* local = c_.arena.make<hir::Local>();
        local->name = param.name;
        local->range = param.range;
        local->index = static_cast<uint32_t>(function->params.size());
        if (param.type != ast::DeclaredType::None) {
            local->type = param.type == ast::DeclaredType::Long ? ValueType::Long : ValueType::String;
            tables_.fixed_at[local] = param.range;
        }
        tables_.assigned.insert(local);
        tables_.bound.insert(local);
        function->params.push_back(local);
    }
    program_.functions.push_back(function);
    return function;
}

hir::Function* Functions::instantiate(NamedFunction& entry) {
    if (!entry.hir) {
        entry.hir = declare(entry);
        pending_.push_back(&entry);
    }
    return entry.hir;
}

namespace {

// Numbers the parameters, then the locals. Building the body can have added parameters for entry values.
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

// Building a body may request further functions, so the list can grow meanwhile.
void Functions::build_pending() {
    while (!pending_.empty()) {
        NamedFunction& entry = *pending_.front();
        pending_.pop_front();
        std::vector<hir::Local*> locals;
        Body body(building(), entry, locals);
        build_function(body, *entry.ast);
        number_locals(*entry.hir, locals);
    }
}

// The kernel's symbols have addresses only at run time. A hidden global holds the address; the session sets it at the
// start.
hir::Expr* Functions::symbol_address(const std::string& symbol, Range range) {
    hir::Global*& global = tables_.addresses[symbol];
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

// Adds a function that frontend/variables has generated, for example to print a container. Equal functions are shared.
hir::Function* Functions::define(hir::Function& function) {
    uint32_t next = 0;
    for (auto* list : {&function.params, &function.locals})
        for (hir::Local* local : *list) {
            local->index = next++;
            tables_.assigned.insert(local);
            tables_.bound.insert(local);
        }
    hir::Function*& known = readers_[hir::identity(function)];
    if (!known) {
        // A name that no script can write.
        function.name = fmt::format("value.{}", readers_.size());
        program_.functions.push_back(&function);
        known = &function;
    }
    return known;
}

// Completes recursive calls: the function passes its additional parameters (values from the probed function's entry) on
// to itself.
void Functions::finish_open_calls(Instance& instance) {
    size_t written = instance.entry->ast->params.size();
    const std::vector<hir::Local*>& params = instance.function->params;
    for (auto [call, from] : instance.open_calls) {
        if (from != instance.function && params.size() > written)
            c_.report_once(
                  DiagId::Unsupported, call->range,
                  fmt::format(
                      "`{}` and `{}` call each other, so they cannot use a value from the probed function's entry",
                      from->name, instance.function->name))
                .help("pass the value as an argument");
        for (size_t i = written; i < params.size(); i++)
            call->args.push_back(c_.arena.make<hir::LocalRef>(call->range, params[i]));
    }
}

// The body is built immediately, for two reasons: the values that it needs from the entry are arguments of the call,
// and instances with equal bodies can be merged.
Instance& Functions::instantiate(NamedFunction& entry, const ResolvedPoint& point, const hir::Handler& handler,
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
    instance.function = declare(entry);
    hir::Function& function = *instance.function;
    for (size_t i = 0; i < instance.arguments.size(); i++)
        if (instance.arguments[i])
            tables_.c_types_of_variables[function.params[i]] = {instance.arguments[i]};
    std::vector<hir::Local*> locals;
    Body body(building(), instance, locals, point);
    build_function(body, *entry.ast);
    number_locals(function, locals);
    instance.complete = true;
    finish_open_calls(instance);
    if (!instance.open_calls.empty()) // its body contains its own name, so it equals no other
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
            std::vector<hir::Function*>& functions = program_.functions;
            functions.erase(std::find(functions.begin(), functions.end(), instance.function));
            have.function->needs_same_types |= instance.function->needs_same_types;
            instance.function = have.function;
            break;
        }
    return instance;
}

bool Functions::is_called(const NamedFunction& entry, const std::set<const hir::Function*>& called) const {
    if (entry.hir && called.count(entry.hir))
        return true;
    return std::any_of(instances_.begin(), instances_.end(), [&](const Instance& instance) {
        return instance.entry == &entry && called.count(instance.function) > 0;
    });
}

// Only the last instances may be removed: earlier calls keep pointers to theirs.
void Functions::drop_instances_after(size_t count) {
    while (instances_.size() > count) {
        std::erase(program_.functions, instances_.back().function);
        instances_.pop_back();
    }
}

// A function is called if a handler reaches it, directly or through other functions. Functions that call only each
// other are uncalled.
void Functions::drop_uncalled() {
    std::set<const hir::Function*> called;
    std::vector<const hir::Function*> todo;
    auto note_call = [&](const hir::Expr& expr) {
        if (expr.kind == hir::ExprKind::Call && called.insert(hir::as<hir::Call>(expr).callee).second)
            todo.push_back(hir::as<hir::Call>(expr).callee);
    };
    for (const auto* handlers : {&program_.handlers, &tables_.never_handlers})
        for (const hir::Handler* handler : *handlers)
            for_each_expr(*handler, note_call);
    while (!todo.empty()) {
        const hir::Function* function = todo.back();
        todo.pop_back();
        for_each_expr(*function->body, note_call);
    }
    std::vector<hir::Function*> kept;
    for (hir::Function* function : program_.functions)
        if (called.count(function))
            kept.push_back(function);
    std::vector<const ast::Function*> uncalled;
    // Iterate by index: building a function can load library files, which append functions.
    for (size_t i = 0; i < names_.functions().size(); i++) {
        NamedFunction& entry = names_.functions()[i];
        if (c_.diags.sources().is_tapset(entry.file) || is_called(entry, called))
            continue;
        uncalled.push_back(entry.ast);
        if (!entry.hir && entry.ast->body && entry.ast->embedded.empty() && !point_uses_.of_function(entry).point) {
            instantiate(entry);
            build_pending();
        }
    }
    if (!c_.options.unoptimized && !c_.diags.has_errors())
        for (const ast::Function* function : uncalled)
            c_.report_once(DiagId::UnusedVariable, function->name_range,
                           fmt::format("function `{}` is never called", function->name));
    program_.functions = std::move(kept);
}

} // namespace sonde
