// `$x`, `$return` and `@var("x")`: from a name to the place where its value is, and the entry points for sema.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/binding.h"

namespace sonde {
namespace {

// nullopt unless all of it is a short number.
std::optional<size_t> decimal(const std::string& text) {
    if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return std::stoul(text);
}

bool is_summary(const ast::TargetExpr& expr) {
    return expr.base == ast::TargetExpr::Variable && expr.name.starts_with("$$");
}

} // namespace

hir::ValueType target_type(const ast::TargetExpr& expr) {
    if (is_summary(expr))
        return hir::ValueType::String;
    for (const ast::Component& component : expr.components)
        if (component.kind == ast::Component::PrettyOne || component.kind == ast::Component::PrettyDeep)
            return hir::ValueType::String;
    return hir::ValueType::Long;
}

hir::Expr* bind_target(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder) {
    return TargetBinder(expr, point, binder).value();
}

hir::Expr* bind_address_of(const ast::TargetExpr& expr, const ResolvedPoint& point, Binder& binder) {
    return TargetBinder(expr, point, binder).address();
}

hir::Expr* bind_return_address(const ResolvedPoint& point, Arena& arena, Diagnostics& diags, ProbeEnvironment& env) {
    if (!point.module || (point.entry_address == point.address && !point.module->is_32_bit()))
        return nullptr;
    ast::TargetExpr none((Range()));
    Binder binder{arena, diags, env, nullptr, nullptr};
    return TargetBinder(none, point, binder).return_address();
}

hir::Expr* TargetBinder::return_address() {
    Location location = point_.module->return_address(point_.entry_address);
    return location.kind == Location::Memory ? evaluate(location.ops) : nullptr;
}

std::nullptr_t TargetBinder::fail(DiagId id, Range range, const std::string& message, const std::string& help) {
    DiagBuilder report = binder_.diags.report(id, range, message);
    if (!help.empty())
        report.help(help);
    return nullptr;
}

std::string TargetBinder::text(size_t end) const {
    ast::TargetExpr part = expr_;
    part.components.resize(std::min(end, part.components.size()));
    while (!part.components.empty() && (part.components.back().kind == ast::Component::PrettyOne ||
                                        part.components.back().kind == ast::Component::PrettyDeep))
        part.components.pop_back();
    return ast::to_source(part);
}

Range TargetBinder::base_range() const {
    Range range = expr_.range;
    if (!expr_.components.empty() && expr_.components[0].range.begin > range.begin)
        range.end = std::min(range.end, expr_.components[0].range.begin);
    if (expr_.base == ast::TargetExpr::Variable)
        range.end = std::min(range.end, range.begin + static_cast<uint32_t>(expr_.name.size()));
    return range;
}

hir::Expr* TargetBinder::value() {
    if (is_file_value())
        return file_value();
    if (is_summary(expr_))
        return point_.syscall      ? syscall_summary()
               : is_by_prototype() ? kernel_summary()
               : point_.mark       ? mark_summary()
               : point_.plt        ? plt_summary()
                                   : all_variables();
    if (pretty_depth() > 0)
        return pretty();
    std::optional<Place> place = base();
    if (place)
        place = walk(*std::move(place), expr_.components.size());
    if (!place)
        return nullptr;
    // A whole object is not a number, but this one's address was given.
    if (expr_.base == ast::TargetExpr::Cast && expr_.components.empty() && is_record(place->type)) {
        // Another node than the operand, whose own type stays.
        auto* address = make<hir::Retype>(expr_.range, place->address, 8u, false);
        note_pointer(address, place->type);
        return address;
    }
    hir::Expr* value = to_long(*place, expr_.range);
    const Type* type = strip(place->type);
    if (type && type->kind == Type::Reference)
        note_pointer(value, type->target);
    else if (value && binder_.note_c_type)
        binder_.note_c_type(value, place->type);
    return value;
}

void TargetBinder::note_pointer(const hir::Expr* value, const Type* target) {
    if (!value || !binder_.note_c_type)
        return;
    auto* pointer = make<Type>();
    pointer->kind = Type::Pointer;
    pointer->size = 8;
    pointer->target = target;
    pointer->of_kernel = target && target->of_kernel;
    binder_.note_c_type(value, pointer);
}

std::optional<Place> TargetBinder::referenced_place() {
    std::optional<Place> place = base();
    if (place)
        place = walk(*std::move(place), expr_.components.size());
    if (place)
        place = without_references(*std::move(place), expr_.range);
    return place;
}

hir::Expr* TargetBinder::address() {
    if (target_type(expr_) == hir::ValueType::String)
        return fail(DiagId::TypeMismatch, expr_.range,
                    fmt::format("`{}` is text, which has no address", ast::to_source(expr_)));
    wants_address_ = true;
    std::optional<Place> place = referenced_place();
    if (!place)
        return nullptr;
    if (place->bit_size != 0)
        return fail(DiagId::TypeMismatch, expr_.range, fmt::format("`{}` is a bitfield, which has no address", text()));
    if (hir::Expr* address = address_of(*place)) {
        auto* value = make<hir::Retype>(expr_.range, address, 8u, false);
        note_pointer(value, place->type);
        return value;
    }
    return fail(DiagId::VariableUnavailable, expr_.range,
                fmt::format("`{}` is not in memory here, so it has no address", text()));
}

// Nothing but the name is known.
hir::Expr* TargetBinder::plt_summary() {
    return make<hir::ConstString>(expr_.range, expr_.name == "$$name" ? point_.plt->name : "");
}

// ---- names ----------------------------------------------------------------------------------------------------------

bool TargetBinder::has_module() {
    std::string name = text(0);
    if (!point_.module) {
        fail(DiagId::WrongContext, expr_.range, fmt::format("`{}` needs a probe point in a program", name),
             "as `process(\"PATH\").function(\"NAME\")`");
        return false;
    }
    if (!point_.module->has_debug_info()) {
        DiagBuilder report = binder_.diags.report(
            DiagId::NoDebugInfo, expr_.range,
            fmt::format("`{}` needs debug information, and `{}` has none", name, point_.module->path()));
        report.help(debug_information_advice(point_.is_go));
        add_debug_problems(report, *point_.module);
        return false;
    }
    return true;
}

bool TargetBinder::has_variables() {
    if (!has_module())
        return false;
    if (point_.function.has_debug_info)
        return true;
    DiagBuilder report =
        binder_.diags.report(DiagId::NoDebugInfo, expr_.range,
                             fmt::format("`{}` needs debug information, and `{}` in `{}` has none",
                                         ast::to_source(expr_), point_.function.name, point_.module->path()));
    report.help(debug_information_advice(point_.is_go));
    add_debug_problems(report, *point_.module);
    return false;
}

std::vector<Variable> TargetBinder::visible(bool globals) {
    return point_.module->variables_in(point_.function, evaluation_address(), globals);
}

std::optional<Place> TargetBinder::base() {
    if (expr_.base == ast::TargetExpr::Cast)
        return cast();
    if (expr_.base == ast::TargetExpr::Value)
        return pointer();
    if (expr_.base == ast::TargetExpr::Var)
        return global();
    if (point_.syscall)
        return syscall_variable();
    if (plan::is_about(point_.kind, plan::Subject::Packet))
        return hook_variable();
    if (is_by_prototype())
        return kernel_variable();
    if (point_.mark)
        return mark_variable();
    if (point_.plt) {
        fail(DiagId::WrongContext, expr_.range, fmt::format("`{}`: a linkage table's entry has no variables", text(0)),
             "it has `$$name`; probe the library's own function for its parameters");
        return std::nullopt;
    }
    if (plan::is_about(point_.kind, plan::Subject::SystemCall))
        return process_syscall_variable();
    if (!has_variables())
        return std::nullopt;
    if (expr_.name == "$return")
        return result(0);
    if (point_.is_go && point_.is_return && expr_.name.starts_with("$return"))
        if (std::optional<size_t> index = decimal(expr_.name.substr(strlen("$return"))))
            return result(*index);
    return variable(expr_.name.substr(1));
}

// An enumerator's value, where a variable might stand.
Place TargetBinder::constant_place(int64_t value) {
    static const Type number = integer_type("long", 8, true);
    Place place;
    place.type = &number;
    place.parts.push_back({0, 8, PlacePart::Value, make<hir::ConstLong>(expr_.range, value), ""});
    return place;
}

std::optional<Place> TargetBinder::variable(const std::string& name) {
    std::vector<Variable> variables = visible(true);
    for (const Variable& candidate : variables)
        if (candidate.name == name)
            return place_of(candidate);
    if (std::optional<int64_t> value = point_.module->visible_enumerator(point_.function, evaluation_address(), name))
        return constant_place(*value);

    std::vector<std::string> near, all;
    std::string list;
    for (const Variable& candidate : variables) {
        (candidate.is_global ? all : near).push_back(candidate.name);
        if (!candidate.is_global)
            list += (list.empty() ? "$" : " $") + candidate.name;
    }
    if (point_.is_return) {
        near.push_back("return");
        list += list.empty() ? "$return" : " $return";
    }
    std::string nearest = nearest_name(name, near);
    if (nearest.empty())
        nearest = nearest_name(name, all);
    DiagBuilder report =
        binder_.diags.report(DiagId::UnknownVariable, base_range(),
                             fmt::format("no variable `{}` is visible in `{}`", expr_.name, point_.function.name));
    if (!nearest.empty())
        report.suggest("$" + nearest);
    report.help(list.empty() ? "no variables are visible there" : fmt::format("visible there: `{}`", list));
    return std::nullopt;
}

std::optional<Place> TargetBinder::result(size_t index) {
    auto refuse = [&](DiagId id, const std::string& message) {
        fail(id, base_range(), message);
        return std::nullopt;
    };
    if (!point_.is_return)
        return refuse(DiagId::WrongContext, "`$return` is for .return probes");
    if (binder_.inside_entry)
        return refuse(DiagId::WrongContext, "`$return` is not known when the function is entered");
    std::vector<Variable> results = point_.module->results(point_.function);
    if (results.empty())
        return refuse(DiagId::WrongContext, fmt::format("`{}` returns nothing", point_.function.name));
    if (index >= results.size())
        return refuse(DiagId::UnknownVariable,
                      results.size() == 1 ? fmt::format("`{}` has one result, `$return`", point_.function.name)
                                          : fmt::format("`{}` has {} results, so the last one is `$return{}`",
                                                        point_.function.name, results.size(), results.size() - 1));
    return place_of_result(results[index]);
}

std::optional<Place> TargetBinder::place_of_result(const Variable& variable) {
    std::string why;
    Location location = point_.module->result_location(point_.function, variable);
    std::optional<Place> place = place_at(location, variable.type, why);
    if (place && location.of_entry)
        place->address = saved(place->address, true);
    if (!place)
        fail(DiagId::VariableUnavailable, base_range(),
             why.starts_with("is ") ? fmt::format("`{}` {}", expr_.name, why)
                                    : fmt::format("`{}` is not available: {}", expr_.name, why));
    return place;
}

std::optional<Place> TargetBinder::place_of(const Variable& variable) {
    DwarfModule& module = *point_.module;
    bool entry = point_.is_return && !binder_.inside_entry;
    if (variable.is_result && entry)
        return place_of_result(variable);
    if (variable.is_result && point_.is_function) {
        fail(DiagId::WrongContext, base_range(),
             fmt::format("`{}` is a result, which is not known when the function is entered", text(0)),
             "write a .return probe");
        return std::nullopt;
    }
    if (entry && !binder_.at_entry) {
        fail(DiagId::WrongContext, base_range(),
             fmt::format("`{}` is known at the function's entry only, and not here", text(0)));
        return std::nullopt;
    }
    std::string why;
    bool argument = point_.at_call && variable.is_parameter;
    Location location =
        argument ? module.argument_location(point_.function, variable) : module.locate(variable, evaluation_address());
    // The kernel's own are found by its symbols: a module's sections have moved apart.
    bool by_symbol = variable.is_global && point_.kernel;
    std::optional<Place> place = by_symbol ? std::nullopt : place_at(location, variable.type, why);
    if (place) {
        place->at_entry = entry && !variable.is_global;
        // The function has returned: registers that lead to a thread-local one are no longer those of the function.
        if (entry && variable.is_global && place->address)
            place->address = saved(place->address, true);
        return place;
    }
    if (std::optional<Address> linked = module.global_address(variable)) {
        // The program counter says where the module was loaded. Behind a return it is in the caller, so the address is
        // taken at the entry.
        constexpr int rip = 16;
        Place at;
        at.type = variable.type;
        at.kernel = point_.kernel != nullptr;
        if (at.kernel) {
            at.address = kernel_address(module, *linked);
            if (!at.address)
                return std::nullopt;
        } else if (module.position_independent()) {
            at.address = saved(
                plus(make<hir::Register>(expr_.range, rip), static_cast<int64_t>(*linked - counter_address())), entry);
        } else {
            at.address = number(static_cast<int64_t>(*linked));
        }
        return at;
    }
    fail(DiagId::VariableUnavailable, base_range(), fmt::format("`{}` is not available here: {}", text(0), why));
    return std::nullopt;
}

} // namespace sonde
