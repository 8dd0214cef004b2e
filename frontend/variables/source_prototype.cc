// `$prev`, `$arg1`, `$return` and others at points in the kernel.
//
// The kernel's types (BTF) have the prototypes of functions and tracepoints, but neither local variables nor locations.
// They are enough: the ABI defines where each argument is when a function is entered, and the kernel passes the
// arguments of a tracepoint to the program as an array.
//
// So variables can be read only at the entry and, for a result, at the return. A return handler that reads a parameter
// gets the value that was saved at the entry (Place::at_entry), because the function may have changed the register.
// Only a trampoline keeps the arguments until the return.
#include "frontend/variables/source_prototype.h"

#include <charconv>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/hints/tracepoint_fields.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/sources.h"
#include "frontend/variables/summary.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// A parameter of a kernel function or tracepoint.
struct KernelVariable {
    std::string name; // without `$`; "arg1" if its name is unknown
    const Type* type;
    int number; // hir::Argument
};

std::vector<KernelVariable> kernel_variables(const ResolvedPoint& point) {
    std::vector<KernelVariable> out;
    if (!point.prototype)
        return out;
    // The first parameter of a tracepoint's prototype is internal.
    size_t first = plan::is_about(point.kind, plan::Subject::Tracepoint) ? 1 : 0;
    int number = 0;
    for (size_t i = first; i < point.prototype->members.size(); i++) {
        const TypeMember& parameter = point.prototype->members[i];
        if (!parameter.type) // `...`
            break;
        std::string name = parameter.name.empty() ? fmt::format("arg{}", out.size() + 1) : parameter.name;
        out.push_back({std::move(name), parameter.type, number});
        // A structure passed by value counts as as many arguments as it has words.
        number += is_record(parameter.type) ? static_cast<int>((size_of(parameter.type) + 7) / 8) : 1;
    }
    return out;
}

std::optional<Place> parameter_place(Binding& b, const KernelVariable& variable) {
    b.needs_same_types = true;
    Place place = value_place(variable.type, b.make<hir::Argument>(b.expr.range, variable.number));
    place.kernel = true;
    // At a return, a trampoline still has the arguments.
    place.at_entry = b.point.is_return && !plan::is_trampoline(b.point.kind) &&
                     variable.number != hir::Argument::result && !b.binder.inside_entry;
    if (place.at_entry && !b.binder.at_entry) {
        b.fail(DiagId::WrongContext, b.base_range(),
               fmt::format("`{}` is known only at the function's entry", b.as_written(0)));
        return std::nullopt;
    }
    if (is_record(variable.type) || size_of(variable.type) > 8) {
        b.fail(
            DiagId::VariableUnavailable, b.base_range(),
            fmt::format("`{}` is a whole `{}`, which cannot be read here", b.as_written(0), type_name(variable.type)));
        return std::nullopt;
    }
    return place;
}

// A parameter by its name, or by its number as in `$arg1`; null if it does not exist.
const KernelVariable* find_parameter(const std::vector<KernelVariable>& variables, const std::string& name) {
    for (const KernelVariable& variable : variables)
        if (variable.name == name)
            return &variable;
    size_t number = 0;
    if (!name.starts_with("arg"))
        return nullptr;
    auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), number);
    bool is_number = error == std::errc() && end == name.data() + name.size();
    return is_number && number >= 1 && number <= variables.size() ? &variables[number - 1] : nullptr;
}

// Reports an unknown parameter, with the most similar one and all of them.
void refuse_parameter(Binding& b, const std::vector<KernelVariable>& variables) {
    std::vector<std::string> names;
    for (const KernelVariable& variable : variables)
        names.push_back(variable.name);
    if (b.point.is_return && b.point.prototype->target)
        names.emplace_back("return");
    std::string list;
    for (const std::string& name : names)
        list += (list.empty() ? "$" : " $") + name;
    const bool is_tracepoint = plan::is_about(b.point.kind, plan::Subject::Tracepoint);
    const char* what = is_tracepoint                                               ? "tracepoint"
                       : plan::is_about(b.point.kind, plan::Subject::SecurityHook) ? "security hook"
                                                                                   : "function";
    std::string nearest = nearest_name(b.expr.name.substr(1), names);
    DiagBuilder report =
        b.binder.diags.report(DiagId::UnknownVariable, b.base_range(),
                              fmt::format("the {} `{}` has no `{}`", what, b.point.point.symbol, b.expr.name));
    const hints::TracepointField* field =
        is_tracepoint ? hints::find_field(b.point.point.symbol, b.expr.name.substr(1)) : nullptr;
    if (field)
        report.help(fmt::format("write `{1}` for `{0}` of the tracepoint's record", field->field, field->ours));
    else if (b.point.is_return && (b.expr.name == "$retval" || b.expr.name == "$ret"))
        report.suggest("$return");
    else if (!nearest.empty())
        report.suggest("$" + nearest);
    report.help(list.empty() ? (is_tracepoint ? "it has no arguments" : "it has no parameters")
                             : fmt::format("it has `{}`", list));
}

std::optional<Place> prototype_variable(Binding& b) {
    const std::string name = b.expr.name.substr(1);
    const std::string& where = b.point.point.symbol;
    auto refuse = [&](DiagId id, const std::string& message, const std::string& help = "") {
        b.fail(id, b.base_range(), message, help);
        return std::nullopt;
    };
    if (name == "return" && plan::is_about(b.point.kind, plan::Subject::SecurityHook))
        return refuse(DiagId::WrongContext, "`$return` of a security hook can only be set",
                      "with -g, `$return = -1` denies the operation");
    if (name == "return" && plan::traits(b.point.kind).decision == plan::Decision::Result)
        return refuse(DiagId::WrongContext,
                      fmt::format("`$return` can only be set here: the handler decides before `{}` runs", where),
                      "use a second .return probe without an assignment to read the result");
    if (name == "return" && !plan::is_about(b.point.kind, plan::Subject::Tracepoint)) {
        if (!b.point.is_return)
            return refuse(DiagId::WrongContext, "`$return` can be used only in .return probes");
        if (b.binder.inside_entry)
            return refuse(DiagId::WrongContext, "`$return` is not known at the function's entry");
        if (b.point.prototype && !b.point.prototype->target)
            return refuse(DiagId::WrongContext, fmt::format("`{}` returns nothing", where));
        if (b.point.prototype)
            return parameter_place(b, {"return", b.point.prototype->target, hir::Argument::result});
    }
    const RegisterFile& registers = b.point.architecture().registers();
    if (!b.point.prototype)
        return refuse(
            DiagId::NoDebugInfo,
            fmt::format("`{}` needs the prototype of `{}`, which the kernel's types do not have", b.expr.name, where),
            fmt::format("read the registers with `register(\"{}\")` and its relatives",
                        registers.name(registers.arguments[0])));
    std::vector<KernelVariable> variables = kernel_variables(b.point);
    if (const KernelVariable* found = find_parameter(variables, name))
        return parameter_place(b, *found);
    refuse_parameter(b, variables);
    return std::nullopt;
}

} // namespace

// `$$name` and `$$system` of a tracepoint; `$$vars` (the same as `$$parms`); `$$return`. The kernel's types contain no
// local variables.
hir::Expr* prototype_summary(Binding& b) {
    bool is_tracepoint = plan::is_about(b.point.kind, plan::Subject::Tracepoint);
    if (is_tracepoint && b.expr.name == "$$name")
        return b.binder.call("ppfunc", {}); // not a literal: see plt_summary()
    if (is_tracepoint && b.expr.name == "$$system")
        return b.string(b.point.system);
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$locals", "$$return", "$$name", "$$system"};
    if (!ends_with_name(b))
        return nullptr;
    Text text;
    if (b.expr.name == "$$vars" || b.expr.name == "$$parms") {
        for (const KernelVariable& variable : kernel_variables(b.point))
            add_variable(b, text, variable.name, [&] { return parameter_place(b, variable); });
    } else if (b.expr.name == "$$return") {
        if (b.point.is_return && b.point.prototype && b.point.prototype->target)
            add_variable(b, text, "return", [&] {
                return parameter_place(b, {"return", b.point.prototype->target, hir::Argument::result});
            });
    } else if (b.expr.name != "$$locals")
        return refuse_summary(b, names);
    return std::move(text).finish(b);
}

namespace {

// The line of a listing: ` $return:long $filename:char*`.
std::string list_parameters(const ResolvedPoint& point) {
    std::string line;
    if (!point.prototype)
        return line;
    if (point.is_return && point.prototype->target)
        line += fmt::format(" $return:{}", type_name(point.prototype->target));
    for (const KernelVariable& variable : kernel_variables(point))
        line += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
    return line;
}

// A security hook refuses with a negative error number.
std::optional<hir::Expr*> assign_refusal(Binding& b, bool append, hir::Expr* value) {
    if (append || b.expr.name != "$return" || !b.expr.components.empty())
        return std::nullopt;
    if (!b.binder.env.guru)
        return b.fail(DiagId::NeedsGuru, b.expr.range, "setting `$return` can deny operations of programs",
                      "-g allows it");
    if (b.point.prototype) {
        const Type* result = strip(b.point.prototype->target);
        if (!result || result->kind == Type::Void || result->kind == Type::Boolean)
            return b.fail(DiagId::WrongContext, b.expr.range,
                          fmt::format("the hook `{}` does not return an error number, so its `$return` cannot be set",
                                      b.point.point.symbol));
    }
    return b.binder.call("__set_return", {value});
}

// Sets the function's result; the function then does not run. The kernel runs the function if the program returns the
// word 0, so 0 cannot be set as a result of 64 bits. For an `int`, callers ignore the upper half of the word. `$return
// = 0` then returns 1 << 32, which is not 0 and still means the int 0.
std::optional<hir::Expr*> assign_result(Binding& b, bool append, hir::Expr* value) {
    if (append || b.expr.name != "$return" || !b.expr.components.empty())
        return std::nullopt;
    const Type* result = strip(b.point.prototype->target);
    const uint64_t size = size_of(result);
    const bool has_zero = size < 8;
    if (!has_zero && value->kind == hir::ExprKind::ConstLong && hir::as<hir::ConstLong>(*value).value == 0)
        return b.fail(DiagId::Unsupported, b.expr.range,
                      fmt::format("BPF cannot set the result of `{}`, a `{}`, to 0: the kernel would run the function",
                                  b.point.point.symbol, type_name(b.point.prototype->target)));
    if (has_zero) {
        hir::Expr* unused = b.number(static_cast<int64_t>(64 - 8 * size));
        value = b.binary(hir::BinaryOp::Shr, b.binary(hir::BinaryOp::Shl, value, unused), unused);
    }
    return b.binder.call("__set_result", {value, b.number(has_zero ? int64_t{1} << 32 : 0)});
}

} // namespace

const VariableSource prototype_source = {
    .find = prototype_variable, .summary = prototype_summary, .list = list_parameters};
const VariableSource security_hook_source = {
    .find = prototype_variable, .summary = prototype_summary, .list = list_parameters, .assign = assign_refusal};
const VariableSource result_source = {
    .find = prototype_variable, .summary = prototype_summary, .list = list_parameters, .assign = assign_result};

} // namespace sonde
