// `@var("name")`: finds the place of a global by its name.
//
// For a variable of the kernel, the kernel's own types (BTF) come first, but they contain only per-CPU variables. Other
// variables need the kernel's debug information. Without it, the list of symbols has at least the address.
//
// In a program, several sources can have a static variable with the same name, and `@var("name@file.c")` chooses one.
// Without a file, the probed function decides: the name means what it would mean in the function's source code.
#include <algorithm>

#include <fmt/format.h>

#include "base/kallsyms.h"
#include "base/suggest.h"
#include "frontend/variables/bases.h"
#include "frontend/variables/kernel_memory.h"
#include "frontend/variables/scope.h"
#include "frontend/variables/source_program.h"

namespace sonde {
namespace {

// A variable of the probed program, or of the kernel at any point.
std::optional<Place> place_of_global(Binding& b, DwarfModule& module, const Variable& variable) {
    if (&module == b.point.module)
        return place_of_variable(b, variable);
    std::optional<Address> linked = module.global_address(variable);
    if (!linked) {
        b.fail(DiagId::VariableUnavailable, b.base_range(), fmt::format("`{}` has no address", b.as_written(0)));
        return std::nullopt;
    }
    Place place = object_at(kernel_address(b, module, *linked), variable.type);
    place.kernel = true;
    return place.address ? std::optional(place) : std::nullopt;
}

// Uses the kernel's own types: the variable's place on the current CPU, or its type. nullopt if they don't have it.
std::optional<Place> place_in_kernel(Binding& b, const std::string& name) {
    Result<KernelTypes*> kernel = b.binder.env.kernel();
    std::vector<KernelGlobal> found = kernel ? (*kernel)->globals(name) : std::vector<KernelGlobal>();
    if (found.size() != 1)
        return std::nullopt;
    b.needs_same_types = true;
    Place place;
    place.type = found[0].type;
    place.kernel = true;
    place.address = found[0].per_cpu          ? per_cpu_address(b, *found[0].per_cpu)
                    : b.binder.symbol_address ? b.binder.symbol_address(name)
                                              : nullptr;
    return place.address ? std::optional(place) : std::nullopt;
}

// `name` is a kernel variable of unknown type.
std::optional<Place> untyped_in_kernel(Binding& b, const std::string& name, const std::string& why) {
    const Result<std::string>& symbols = b.binder.env.kernel_symbols();
    bool is_symbol = false;
    for (std::string_view rest = lines(symbols); auto symbol = next_symbol(rest);)
        is_symbol = is_symbol || (symbol->name == name && symbol->module.empty());
    if ((is_symbol || !symbols) && b.wants_address && b.expr.components.empty() && b.binder.symbol_address) {
        Place place = object_at(b.binder.symbol_address(name), nullptr);
        place.kernel = true;
        return place;
    }
    DiagBuilder report = b.binder.diags.report(
        DiagId::NoDebugInfo, b.base_range(),
        fmt::format("the type of `{}` is only in the kernel's debug information: {}", b.as_written(0), why));
    if (is_symbol)
        report.help(
            fmt::format("its address is known: `@cast(&@var(\"{}\", \"kernel\"), \"TYPE\", \"kernel\")`", name));
    else if (Result<KernelTypes*> kernel = b.binder.env.kernel())
        report.suggest(nearest_name(name, (*kernel)->global_names()));
    return std::nullopt;
}

// The parts of `@var`'s name: `name` or `name@file.c`.
struct GlobalName {
    std::string name;
    std::string file; // empty: any file
};

GlobalName split_name(const std::string& written) {
    size_t at = written.find('@');
    return {written.substr(0, at), at == std::string::npos ? "" : written.substr(at + 1)};
}

// The module lacks such a variable: tries an enumerator, otherwise reports an error.
std::optional<Place> enumerator_place(Binding& b, DwarfModule& module, const GlobalName& wanted) {
    std::optional<int64_t> value;
    if (b.point.module == &module && b.point.function.has_debug_info)
        value = module.visible_enumerator(b.point.function, b.evaluation_address(), wanted.name);
    if (!value)
        value = module.enumerator(wanted.name);
    if (value)
        return constant_place(b, *value);
    std::vector<Variable> elsewhere = wanted.file.empty() ? std::vector<Variable>() : module.globals(wanted.name);
    DiagBuilder report = b.binder.diags.report(
        DiagId::UnknownVariable, b.base_range(),
        fmt::format("no global variable `{}` in `{}`", wanted.name, wanted.file.empty() ? module.path() : wanted.file));
    if (!elsewhere.empty())
        report.help(fmt::format("one is in `{}`", elsewhere[0].file));
    else
        report.suggest(nearest_name(wanted.name, module.global_names()));
    return std::nullopt;
}

// If several variables have this name, chooses one.
std::optional<Place> place_in_module(Binding& b, DwarfModule& module, const GlobalName& wanted) {
    std::vector<Variable> found = module.globals(wanted.name, wanted.file);
    if (found.empty())
        return enumerator_place(b, module, wanted);
    // First the one that the probed function sees, then an external one, then the only one.
    if (wanted.file.empty() && b.point.module == &module && b.point.function.has_debug_info)
        for (const Variable& candidate : module.variables_in(b.point.function, b.evaluation_address(), true))
            if (candidate.is_global && candidate.name == wanted.name)
                return place_of_global(b, module, candidate);
    // If the pattern matches several files, choose the one with the shortest path.
    if (!wanted.file.empty())
        return place_of_global(
            b, module, *std::ranges::min_element(found, {}, [](const Variable& one) { return one.file.size(); }));
    for (const Variable& candidate : found)
        if (candidate.external)
            return place_of_global(b, module, candidate);
    if (found.size() > 1 && found[0].file != found[1].file) {
        b.fail(DiagId::UnknownVariable, b.base_range(),
               fmt::format("`{}` is the name of {} static variables of other sources", wanted.name, found.size()),
               fmt::format("name the file: `@var(\"{}@{}\")`", wanted.name, found[0].file));
        return std::nullopt;
    }
    return place_of_global(b, module, found[0]);
}

std::optional<Place> place_of_kernels(Binding& b, const GlobalName& wanted) {
    if (wanted.file.empty())
        if (std::optional<Place> place = place_in_kernel(b, wanted.name))
            return place;
    Result<DwarfModule*> debug = b.binder.env.kernel_debug_info();
    return debug ? place_in_module(b, **debug, wanted) : untyped_in_kernel(b, wanted.name, debug.error().message);
}

} // namespace

std::optional<Place> global_place(Binding& b) {
    const GlobalName wanted = split_name(b.expr.name);
    bool is_modules = b.expr.module.empty() && b.point.module && b.point.kernel && !b.point.point.module.empty() &&
                      !b.point.module->globals(wanted.name, wanted.file).empty();
    if (is_modules)
        return place_in_module(b, *b.point.module, wanted);
    if (is_kernels(b))
        return place_of_kernels(b, wanted);
    std::vector<DwarfModule*> candidates = variable_modules(b);
    if (candidates.empty())
        return std::nullopt;
    if (candidates[0] != b.point.module) {
        b.fail(
            DiagId::Unsupported, b.base_range(),
            fmt::format("the address of variables of `{}` in the probed process is not known", candidates[0]->path()),
            "read the variable in a probe of that program or library");
        return std::nullopt;
    }
    return place_in_module(b, *candidates[0], wanted);
}

} // namespace sonde
