// `$prev`, `$arg1`, `$return` and their relatives at points in the kernel.
#include <charconv>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/binding.h"

namespace sonde {

std::vector<KernelVariable> kernel_variables(const ResolvedPoint& point) {
    std::vector<KernelVariable> out;
    if (!point.prototype)
        return out;
    // What a tracepoint's handlers get first is their own.
    size_t first = plan::is_about(point.kind, plan::Subject::Tracepoint) ? 1 : 0;
    int number = 0;
    for (size_t i = first; i < point.prototype->members.size(); i++) {
        const TypeMember& parameter = point.prototype->members[i];
        if (!parameter.type) // `...`
            break;
        std::string name = parameter.name.empty() ? fmt::format("arg{}", out.size() + 1) : parameter.name;
        out.push_back({std::move(name), parameter.type, number});
        // A structure that is passed as it is takes as many places as it has words.
        number += is_record(parameter.type) ? static_cast<int>((size_of(parameter.type) + 7) / 8) : 1;
    }
    return out;
}

// Where the kernel is loaded differs from boot to boot: addresses in its debug information count from a symbol, those
// in a module's from one of its own, as each of its sections has another place.
hir::Expr* TargetBinder::kernel_address(DwarfModule& module, Address linked) {
    if (const std::string& owner = point_.point.module; &module == point_.module && !owner.empty()) {
        std::optional<std::pair<std::string, Address>> symbol = module.unique_variable_before(linked);
        if (!symbol || !binder_.symbol_address)
            return fail(
                DiagId::VariableUnavailable, base_range(),
                fmt::format("where `{}` is cannot be known: `{}` has no symbol for it", text(0), module.path()));
        binder_.env.relies_on_kernel = true;
        return plus(binder_.symbol_address(fmt::format("{}\t[{}]", symbol->first, owner)),
                    static_cast<int64_t>(linked - symbol->second));
    }
    constexpr const char* mark = "_stext";
    std::optional<Address> from = module.symbol_address(mark);
    if (!from || !binder_.symbol_address)
        return fail(
            DiagId::VariableUnavailable, base_range(),
            fmt::format("where `{}` is cannot be known: `{}` has no symbol `{}`", text(0), module.path(), mark));
    // Up to 6.14 what every CPU has a copy of is linked at small addresses, which are offsets.
    std::optional<Address> copies = module.symbol_address("__per_cpu_start"),
                           end = module.symbol_address("__per_cpu_end");
    if (copies && end && linked >= *copies && linked < *end)
        return per_cpu_address(linked - *copies);
    binder_.env.relies_on_kernel = true;
    return plus(binder_.symbol_address(mark), static_cast<int64_t>(linked - *from));
}

// The current CPU's copy. `__per_cpu_offset[cpu]` is what has to be added to a variable's address in the kernel's image
// (include/asm-generic/percpu.h).
hir::Expr* TargetBinder::per_cpu_address(uint64_t offset) {
    if (!binder_.symbol_address || !binder_.call)
        return nullptr;
    hir::Expr* cpu = binder_.call("cpu", {});
    if (!cpu)
        return nullptr;
    hir::Expr* slot = binary(hir::BinaryOp::Add, binder_.symbol_address("__per_cpu_offset"),
                             binary(hir::BinaryOp::Shl, cpu, number(3)));
    auto* distance = make<hir::Load>(expr_.range, slot, 8u, false);
    distance->user = false;
    hir::Expr* image = plus(binder_.symbol_address("__per_cpu_start"), static_cast<int64_t>(offset));
    return binary(hir::BinaryOp::Add, image, distance);
}

std::optional<Place> TargetBinder::kernel_place(const KernelVariable& variable) {
    binder_.env.relies_on_kernel = true;
    Place place;
    place.type = variable.type;
    place.kernel = true;
    // At a return the trampoline still has the arguments.
    place.at_entry = point_.is_return && !plan::is_trampoline(point_.kind) &&
                     variable.number != hir::Argument::result && !binder_.inside_entry;
    if (place.at_entry && !binder_.at_entry) {
        fail(DiagId::WrongContext, base_range(),
             fmt::format("`{}` is known at the function's entry only, and not here", text(0)));
        return std::nullopt;
    }
    if (is_record(variable.type) || size_of(variable.type) > 8) {
        fail(DiagId::VariableUnavailable, base_range(),
             fmt::format("`{}` is a whole `{}`, which cannot be read here", text(0), type_name(variable.type)));
        return std::nullopt;
    }
    place.parts.push_back({0, 8, PlacePart::Value, make<hir::Argument>(expr_.range, variable.number), ""});
    return place;
}

std::optional<Place> TargetBinder::kernel_variable() {
    std::vector<KernelVariable> variables = kernel_variables(point_);
    std::string name = expr_.name.substr(1);
    bool is_tracepoint = plan::is_about(point_.kind, plan::Subject::Tracepoint);
    const std::string& where = point_.point.symbol;
    auto refuse = [&](DiagId id, const std::string& message, const std::string& help = "") {
        fail(id, base_range(), message, help);
        return std::nullopt;
    };
    const bool is_hook = plan::is_about(point_.kind, plan::Subject::SecurityHook);
    if (name == "return" && is_hook)
        return refuse(DiagId::WrongContext, "`$return` of a security hook can only be set",
                      "with -g: `$return = -1` forbids what was asked");
    if (name == "return" && !is_tracepoint) {
        if (!point_.is_return)
            return refuse(DiagId::WrongContext, "`$return` is for .return probes");
        if (binder_.inside_entry)
            return refuse(DiagId::WrongContext, "`$return` is not known when the function is entered");
        if (point_.prototype && !point_.prototype->target)
            return refuse(DiagId::WrongContext, fmt::format("`{}` returns nothing", where));
        if (point_.prototype)
            return kernel_place({"return", point_.prototype->target, hir::Argument::result});
    }
    if (!point_.prototype)
        return refuse(
            DiagId::NoDebugInfo,
            fmt::format("`{}` needs the prototype of `{}`, which the kernel's types do not have", expr_.name, where),
            "`register(\"rdi\")` and its like give what is in the registers");
    for (const KernelVariable& variable : variables)
        if (variable.name == name)
            return kernel_place(variable);
    size_t number = 0;
    if (name.starts_with("arg")) {
        auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
        if (error == std::errc() && end == name.data() + name.size() && number >= 1 && number <= variables.size())
            return kernel_place(variables[number - 1]);
    }
    std::vector<std::string> near;
    std::string list;
    for (const KernelVariable& variable : variables) {
        near.push_back(variable.name);
        list += (list.empty() ? "$" : " $") + variable.name;
    }
    if (point_.is_return && point_.prototype->target) {
        near.emplace_back("return");
        list += list.empty() ? "$return" : " $return";
    }
    std::string nearest = nearest_name(name, near);
    DiagBuilder report = binder_.diags.report(DiagId::UnknownVariable, base_range(),
                                              fmt::format("the {} `{}` has no `{}`",
                                                          is_tracepoint ? "tracepoint"
                                                          : is_hook     ? "security hook"
                                                                        : "function",
                                                          where, expr_.name));
    if (!nearest.empty())
        report.suggest("$" + nearest);
    report.help(list.empty() ? (is_tracepoint ? "it has no arguments" : "it has no parameters")
                             : fmt::format("it has `{}`", list));
    return std::nullopt;
}

// `$$name` and `$$system` of a tracepoint; `$$vars`, which is `$$parms`; `$$return`. The kernel's types have no locals.
hir::Expr* TargetBinder::kernel_summary() {
    bool is_tracepoint = plan::is_about(point_.kind, plan::Subject::Tracepoint);
    if (is_tracepoint && expr_.name == "$$name")
        return make<hir::ConstString>(expr_.range, point_.point.symbol);
    if (is_tracepoint && expr_.name == "$$system")
        return make<hir::ConstString>(expr_.range, point_.system);
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$locals", "$$return", "$$name", "$$system"};
    for (const ast::Component& component : expr_.components)
        if (component.kind == ast::Component::Member || component.kind == ast::Component::Index)
            return fail(DiagId::TypeMismatch, component.range,
                        fmt::format("`{}` is text, which has no members", expr_.name));
    Text text;
    if (expr_.name == "$$vars" || expr_.name == "$$parms") {
        for (const KernelVariable& variable : kernel_variables(point_))
            add_variable(text, variable.name, [&] { return kernel_place(variable); });
    } else if (expr_.name == "$$return") {
        if (point_.is_return && point_.prototype && point_.prototype->target)
            add_variable(text, "return",
                         [&] { return kernel_place({"return", point_.prototype->target, hir::Argument::result}); });
    } else if (expr_.name != "$$locals") {
        binder_.diags.report(DiagId::UnknownVariable, base_range(), fmt::format("unknown variable `{}`", expr_.name))
            .suggest(nearest_name(expr_.name, names));
        return nullptr;
    }
    return finish(std::move(text));
}

} // namespace sonde
