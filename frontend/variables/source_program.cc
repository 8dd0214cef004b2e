// `$x`, `$return` and `$$vars` of a function with debug information, and the errors without debug information.
//
// The time of evaluation decides the location of a variable:
//
// * At the entry, parameters are where the calling convention passes them. The debug information describes them only
//   after the prologue, and is wrong before (variable_location()).
// * In the middle of a function, the debug information is right for all variables.
// * At the return, registers and stack already belong to the caller. `$x` therefore means the value at the entry: the
//   expression is saved there (Place::at_entry). `$return` is read now, from the place of the result.
//
// Globals have a linked address. The program counter and its linked address together give the distance by which the
// module was moved. At a return the program counter is in the caller, so that distance is saved at the entry, too.
#include "frontend/variables/source_program.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/suggest.h"
#include "frontend/points/debug_problems.h"
#include "frontend/points/no_result.h"
#include "frontend/variables/kernel_memory.h"
#include "frontend/variables/location.h"
#include "frontend/variables/readable_lines.h"
#include "frontend/variables/reading.h"
#include "frontend/variables/sources.h"
#include "frontend/variables/summary.h"

namespace sonde {
namespace {

// nullopt unless the whole text is a short number.
std::optional<size_t> decimal(const std::string& text) {
    if (text.empty() || text.size() > 3 || text.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return std::stoul(text);
}

// How to read a function's arguments and result if their names and types are unknown; "" if this is impossible.
std::string way_without_names(Binding& b) {
    const std::string name = b.as_written(0);
    if (b.point.is_go || !name.starts_with('$') || name.starts_with("$$"))
        return "";
    if (name == "$return")
        return "without debug information, `returnval()` is the function's result, and `user_string(returnval())` a "
               "string at this address";
    return b.point.is_return ? "without debug information, `@entry(long_arg(1))` is the first argument as a number, "
                               "and `@entry(pointer_arg(1))` as an address"
                             : "without debug information, `long_arg(1)` is the first argument, and "
                               "`user_string(pointer_arg(1))` a string at this address";
}

// Reports the missing debug information, how to get it, and how to do without it.
void report_no_debug_info(Binding& b, const std::string& text) {
    DiagBuilder report = b.binder.diags.report(DiagId::NoDebugInfo, b.expr.range, text);
    report.help(debug_information_advice(b.point.is_go));
    if (const std::string way = way_without_names(b); !way.empty())
        report.help(way);
    add_debug_problems(report, *b.point.module);
}

} // namespace

bool has_module(Binding& b) {
    std::string name = b.as_written(0);
    const bool is_place_in_file = !b.point.point.path.empty() && b.point.point.offset != 0;
    if (!b.point.module && is_place_in_file) {
        b.fail(
            DiagId::WrongContext, b.expr.range,
            fmt::format("`{}` is not available at a point with `.absolute`, which knows nothing but an address", name),
            "leave out `.absolute` if a statement begins there, or use `@uregister(N)` and `@cast(ADDRESS, \"TYPE\", "
            "\"PATH\")`");
        return false;
    }
    if (!b.point.module) {
        const bool can_say_where = name.starts_with("@cast(") || name.starts_with("@var(");
        b.fail(DiagId::WrongContext, b.expr.range, fmt::format("`{}` needs a probe point in a program", name),
               can_say_where ? "use for example `process(\"PATH\").function(\"NAME\")`, or write the place as its last "
                               "argument: `\"kernel\"`, a module or a program's path"
                             : "use for example `process(\"PATH\").function(\"NAME\")`");
        return false;
    }
    if (!b.point.module->has_debug_info()) {
        report_no_debug_info(
            b, fmt::format("`{}` needs debug information, which `{}` does not have", name, b.point.module->path()));
        return false;
    }
    return true;
}

namespace {

// Whether the module and the probed function have debug information; false after a report.
bool has_variables(Binding& b) {
    if (!has_module(b))
        return false;
    if (b.point.function.has_debug_info)
        return true;
    report_no_debug_info(b, fmt::format("`{}` needs debug information, which `{}` in `{}` does not have",
                                        ast::to_source(b.expr), b.point.function.name, b.point.module->path()));
    return false;
}

// The variables in scope at the probe point, innermost first.
std::vector<Variable> visible_variables(Binding& b, bool globals) {
    return b.point.module->variables_in(b.point.function, b.evaluation_address(), globals);
}

// The place of one result, from the calling convention. After a tail call the result does not exist yet.
std::optional<Place> place_of_result(Binding& b, const Variable& variable) {
    if (b.point.leaves_by_jump) {
        b.fail(DiagId::VariableUnavailable, b.base_range(), why_no_result(b.point, b.expr.name), no_result_advice);
        return std::nullopt;
    }
    std::string why;
    Location location = b.point.module->calling_convention().result_location(b.point.function, variable);
    // The handler at the entry can be behind instructions that change the register with the address.
    if (location.of_entry)
        location.ops = b.point.module->parameter_locations().value_of_entry(
            b.point.function, b.point.architecture().registers().memory_result.address, b.evaluation_address());
    std::optional<Place> place = place_at(b, location, variable.type, why);
    if (place && location.of_entry)
        place->address = b.saved(place->address, true);
    if (!place)
        b.fail(DiagId::VariableUnavailable, b.base_range(), unavailable_text(b.expr.name, why));
    return place;
}

// `$return`, or `$returnN` for the results of a Go function.
std::optional<Place> program_result(Binding& b, size_t index) {
    auto refuse = [&](DiagId id, const std::string& message) {
        b.fail(id, b.base_range(), message);
        return std::nullopt;
    };
    if (!b.point.is_return)
        return refuse(DiagId::WrongContext, "`$return` can be used only in .return probes");
    if (b.binder.inside_entry)
        return refuse(DiagId::WrongContext, "`$return` is not known at the function's entry");
    std::vector<Variable> results = b.point.module->results(b.point.function);
    if (results.empty())
        return refuse(DiagId::WrongContext, fmt::format("`{}` returns nothing", b.point.function.name));
    if (index >= results.size())
        return refuse(DiagId::UnknownVariable,
                      results.size() == 1 ? fmt::format("`{}` has one result, `$return`", b.point.function.name)
                                          : fmt::format("`{}` has {} results, so the last one is `$return{}`",
                                                        b.point.function.name, results.size(), results.size() - 1));
    return place_of_result(b, results[index]);
}

// Advice for a variable that cannot be read at the probe. Empty if it can be read nowhere in the function.
std::string readable_elsewhere(Binding& b, const Variable& variable) {
    if (b.binder.diags.is_suppressed() || variable.is_global)
        return "";
    DwarfModule& module = *b.point.module;
    const std::optional<ReadableStatement> nearest = nearest_readable(
        module, b.point.function, b.evaluation_address(), module.location_ranges(variable, b.point.function));
    if (!nearest)
        return "";
    if (b.is_in_tools_word()) {
        if (!nearest->whole_line)
            return fmt::format("it can be read in a part of line {}", nearest->statement.line);
        return fmt::format("it can be read at `{}`", nearest->place.substr(nearest->place.find('@') + 1));
    }
    const std::string argument = nearest->whole_line ? fmt::format("\"{}\"", nearest->place) : nearest->place;
    return fmt::format("it can be read at line {}: use `.statement({})`", nearest->statement.line, argument);
}

} // namespace

// A parameter has different locations at different places. The first case that applies decides:
// * At a probe of an inlined copy: where the caller has the argument.
// * Before the prologue (`at_call`): where the ABI passes the argument.
// * At a probe of a function that is a few instructions after the entry: as below. But if the code has already changed
//   the parameter, it is unavailable. A probe of a function means its entry, and the new value would be misleading.
// * Elsewhere: as the debug information says.
Location variable_location(const ResolvedPoint& point, const Variable& variable, Address address) {
    if (!variable.is_parameter || !point.function.has_debug_info)
        return point.module->locate(variable, address);
    ParameterLocations& places = point.module->parameter_locations();
    if (point.function.inlined && point.is_function && address == point.address)
        return places.at_copy_entry(variable, address);
    if (point.at_call)
        return places.at_entry(point.function, variable, address);
    // A probe of a function can be a few instructions after its entry, where other parameters have their places.
    if (point.is_function && places.has_changed(point.function, variable, address))
        return unavailable("has changed since the function's entry");
    return places.inside(point.function, variable, address);
}

std::optional<Place> place_of_variable(Binding& b, const Variable& variable) {
    DwarfModule& module = *b.point.module;
    bool entry = b.point.is_return && !b.binder.inside_entry;
    if (variable.is_result && entry)
        return place_of_result(b, variable);
    if (variable.is_result && b.point.is_function) {
        b.fail(DiagId::WrongContext, b.base_range(),
               fmt::format("`{}` is a result, which is not known at the function's entry", b.as_written(0)),
               "write a .return probe");
        return std::nullopt;
    }
    if (entry && !b.binder.at_entry) {
        b.fail(DiagId::WrongContext, b.base_range(),
               fmt::format("`{}` is known only at the function's entry", b.as_written(0)));
        return std::nullopt;
    }
    std::string why;
    Location location = variable_location(b.point, variable, b.evaluation_address());
    // The kernel's globals are found through symbols, because each section of a module is loaded separately.
    bool by_symbol = variable.is_global && b.point.kernel;
    std::optional<Place> place = by_symbol ? std::nullopt : place_at(b, location, variable.type, why);
    if (!place && !by_symbol)
        place = implicit_pointer(b, location, variable.type);
    if (place) {
        place->at_entry = entry && !variable.is_global;
        // After the return, registers that lead to a thread-local variable no longer have the function's values.
        if (entry && variable.is_global && place->address)
            place->address = b.saved(place->address, true);
        return place;
    }
    if (std::optional<Address> linked = module.global_address(variable)) {
        // The program counter shows where the module is loaded. After a return it is in the caller, so its value at the
        // entry is used.
        const int counter = b.point.architecture().registers().instruction_pointer;
        Place at;
        at.type = variable.type;
        at.kernel = b.point.kernel != nullptr;
        if (at.kernel) {
            at.address = kernel_address(b, module, *linked);
            if (!at.address)
                return std::nullopt;
        } else if (module.file().position_independent()) {
            at.address = b.saved(b.plus(b.make<hir::Register>(b.expr.range, counter),
                                        static_cast<int64_t>(*linked - b.counter_address())),
                                 entry);
        } else {
            at.address = b.number(static_cast<int64_t>(*linked));
        }
        return at;
    }
    b.fail(DiagId::VariableUnavailable, b.base_range(), unavailable_text(b.as_written(0), why),
           readable_elsewhere(b, variable));
    return std::nullopt;
}

bool has_variable(const ResolvedPoint& point, std::string_view name) {
    if (point.module)
        return std::ranges::any_of(
            point.module->variables_in(point.function, point.is_return ? point.entry_address : point.address, true),
            [&](const Variable& one) { return one.name == name; });
    return point.prototype &&
           std::ranges::any_of(point.prototype->members, [&](const TypeMember& one) { return one.name == name; });
}

namespace {

// A variable that the probed lambda of C++ has captured: a member of the closure, to which clang's `this` and gcc's
// `__closure` point. gcc also describes most of them as variables.
struct Captured {
    const Variable* pointer;
    const Type* closure;
    TypeMember member;
};

std::optional<Captured> find_captured(const std::vector<Variable>& variables, const std::string& name) {
    for (const Variable& candidate : variables) {
        const Type* pointer = strip(candidate.type);
        const Type* closure = pointer && pointer->kind == Type::Pointer ? strip(pointer->target) : nullptr;
        if ((candidate.name != "this" && candidate.name != "__closure") || !closure || closure->kind != Type::Struct ||
            !closure->name.empty())
            continue;
        std::optional<TypeMember> member = find_member(closure, name);
        if (!member)
            member = find_member(closure, "__" + name);
        if (member)
            return Captured{&candidate, closure, *member};
    }
    return std::nullopt;
}

} // namespace

std::optional<Place> named_variable(Binding& b, const std::string& name) {
    std::vector<Variable> variables = visible_variables(b, true);
    const Variable* local = nullptr;
    for (const Variable& candidate : variables)
        if (!local && candidate.name == name)
            local = &candidate;
    // A captured variable hides a global one.
    if (std::optional<Captured> captured = find_captured(variables, name); captured && (!local || local->is_global)) {
        std::optional<Place> pointer = place_of_variable(b, *captured->pointer);
        hir::Expr* address = pointer ? load(b, *pointer, b.base_range()) : nullptr;
        return address ? std::optional(inside(b, object_at(address, captured->closure), captured->member))
                       : std::nullopt;
    }
    if (local)
        return place_of_variable(b, *local);
    if (std::optional<int64_t> value =
            b.point.module->visible_enumerator(b.point.function, b.evaluation_address(), name))
        return constant_place(b, *value);

    std::vector<std::string> near, all;
    std::string list;
    for (const Variable& candidate : variables) {
        (candidate.is_global ? all : near).push_back(candidate.name);
        if (!candidate.is_global)
            list += (list.empty() ? "$" : " $") + candidate.name;
    }
    if (b.point.is_return) {
        near.push_back("return");
        list += list.empty() ? "$return" : " $return";
    }
    const bool wants_result = name == "retval" || name == "ret" || name == "rv" || name == "result";
    std::string nearest = wants_result && b.point.is_return ? "return" : nearest_name(name, near);
    if (nearest.empty())
        nearest = nearest_name(name, all);
    DiagBuilder report =
        b.binder.diags.report(DiagId::UnknownVariable, b.base_range(),
                              fmt::format("no variable `{}` is visible in `{}`", b.expr.name, b.point.function.name));
    if (!nearest.empty())
        report.suggest("$" + nearest);
    if (wants_result && !b.point.is_return)
        report.help("the result is `$return`, in a .return probe");
    else if (name.size() == 4 && name.starts_with("arg") && name[3] >= '1' && name[3] <= '6')
        report.help(fmt::format("`long_arg({})` is the argument at that position", name[3]));
    report.help(list.empty() ? "no variables are visible at the probe point"
                             : fmt::format("visible variables: `{}`", list));
    return std::nullopt;
}

std::optional<Place> program_variable(Binding& b) {
    if (!has_variables(b))
        return std::nullopt;
    if (b.expr.name == "$return")
        return program_result(b, 0);
    if (b.point.is_go && b.point.is_return && b.expr.name.starts_with("$return"))
        if (std::optional<size_t> index = decimal(b.expr.name.substr(strlen("$return"))))
            return program_result(b, *index);
    return named_variable(b, b.expr.name.substr(1));
}

namespace {

// The name of a result in scripts: its own name, "return" or "return1".
std::string result_name(const std::vector<Variable>& results, size_t index) {
    if (!results[index].name.empty())
        return results[index].name;
    return results.size() == 1 ? "return" : fmt::format("return{}", index);
}

} // namespace

hir::Expr* program_summary(Binding& b) {
    static const std::vector<std::string> names = {"$$vars", "$$parms", "$$locals", "$$return"};
    if (!ends_with_name(b))
        return nullptr;
    bool vars = b.expr.name == "$$vars";
    bool parameters = vars || b.expr.name == "$$parms";
    bool locals = vars || b.expr.name == "$$locals";
    if (!parameters && !locals && b.expr.name != "$$return")
        return refuse_summary(b, names);
    // Not an error, so that a pattern over many libraries works if some of them have no debug information.
    if (b.point.module && !b.point.function.has_debug_info) {
        const std::string& path = b.point.module->path();
        const bool beside_others =
            b.point.module->has_debug_info(); // start-up code without debug information, which patterns find, too
        if (!beside_others && b.binder.env.told_no_variables.insert(path).second)
            b.binder.diags
                .report(DiagId::NoVariables, b.expr.range,
                        fmt::format("`{}` is empty where `{}` has no debug information", b.expr.name, path))
                .help(debug_information_advice(b.point.is_go));
        return b.string("");
    }
    if (!has_variables(b))
        return nullptr;
    Text text;
    if (!parameters && !locals) {
        std::vector<Variable> results;
        if (b.point.is_return)
            results = b.point.module->results(b.point.function);
        for (size_t i = 0; i < results.size(); i++)
            add_variable(b, text, result_name(results, i), [&] { return program_result(b, i); });
        return std::move(text).finish(b);
    }
    std::vector<Variable> variables = visible_variables(b, false);
    for (bool wanted : {true, false})
        for (const Variable& variable : variables)
            if (!variable.is_result && variable.is_parameter == wanted && (wanted ? parameters : locals))
                add_variable(b, text, variable.name, [&] { return place_of_variable(b, variable); });
    return std::move(text).finish(b);
}

namespace {

// Whether the parameter can be read in a probe whose handler needs nothing else. Such a probe is placed at the
// function's first instruction if the parameter is lost after the prologue (place_cheaply()).
bool is_known_at_call(const ResolvedPoint& point, const Variable& variable) {
    const FunctionInstance& function = point.function;
    ParameterLocations& places = point.module->parameter_locations();
    return variable.is_parameter && point.is_function && !point.is_return && !point.is_go && !function.inlined &&
           (places.is_optimized(function) || point.module->calling_convention().keeps_to_abi(function)) &&
           places.at_entry(function, variable, function.entry).kind != Location::Unavailable;
}

// Whether the variable, or the object that it points to, can be read.
bool is_known(const Location& location) { return location.kind != Location::Unavailable || location.pointee; }

std::string list_program_variables(const ResolvedPoint& point) {
    std::string line;
    if (!point.module || !point.function.has_debug_info)
        return line;
    Address address = point.is_return ? point.entry_address : point.address;
    std::vector<Variable> results;
    if (point.is_return)
        results = point.module->results(point.function);
    for (size_t i = 0; i < results.size(); i++)
        line += fmt::format(" ${}:{}", result_name(results, i), type_name(results[i].type));
    for (const Variable& variable : point.module->variables_to_list(point.function, address))
        if (!variable.is_result &&
            (is_known(variable_location(point, variable, address)) || is_known_at_call(point, variable)))
            line += fmt::format(" ${}:{}", variable.name, type_name(variable.type));
    return line;
}

} // namespace

const VariableSource no_source = {};
const VariableSource program_source = {.list = list_program_variables};

} // namespace sonde
