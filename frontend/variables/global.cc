// `@cast(expr, "type")` and `@var("name")`: from an address or a global's name to a place.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/kallsyms.h"
#include "base/suggest.h"
#include "frontend/variables/binding.h"

namespace sonde {

std::vector<std::string> split_modules(std::string_view list) {
    std::vector<std::string> names;
    for (bool more = true; more;) {
        size_t colon = list.find(':');
        more = colon != std::string_view::npos;
        names.emplace_back(list.substr(0, colon));
        list = more ? list.substr(colon + 1) : "";
    }
    return names;
}

DwarfModule* TargetBinder::named_module(const std::string& name, std::string& why) {
    if (name == "kernel") {
        why = "the kernel can only be named alone";
    } else if (Result<std::string> path = find_file(name); !path) {
        why = path.error().message;
    } else if (Result<DwarfModule*> module = binder_.module(*path); !module) {
        why = module.error().message;
    } else if (!(*module)->has_debug_info()) {
        why = fmt::format("`{}` has no debug information", *path);
    } else {
        return *module;
    }
    return nullptr;
}

// `@var`'s module, which may be a list with `:` between them; without it, the probed program. Empty after a report.
std::vector<DwarfModule*> TargetBinder::modules() {
    std::vector<DwarfModule*> found;
    if (expr_.module.empty()) {
        if (has_module())
            found.push_back(point_.module);
        return found;
    }
    std::string why;
    for (const std::string& name : split_modules(expr_.module)) {
        if (is_header(name))
            why = fmt::format("variables of the header `{}` have no place in a program", name);
        else if (DwarfModule* module = named_module(name, why))
            found.push_back(module);
    }
    if (found.empty())
        fail(DiagId::BadTarget, base_range(), fmt::format("`\"{}\"` gives no variables: {}", expr_.module, why),
             "name a program or library with debug information, or leave it out to take the probed program");
    return found;
}

// True for what is the kernel's: it is named as the module, as in "kernel<linux/sched.h>", or none is and the point is
// there.
bool TargetBinder::is_kernels() const {
    const std::string& module = expr_.module;
    return module.empty() ? point_.kernel != nullptr : module == "kernel" || module.starts_with("kernel<");
}

std::optional<TargetBinder::TypeScope> TargetBinder::type_scope() {
    if (is_kernels()) {
        Result<KernelTypes*> kernel = binder_.env.kernel();
        if (!kernel) {
            fail(DiagId::NoDebugInfo, base_range(), kernel.error().message);
            return std::nullopt;
        }
        binder_.env.relies_on_kernel = true;
        return TypeScope{[types = *kernel](const std::string& name) { return types->find_type(name); },
                         [types = *kernel] { return types->type_names(); }, "the kernel"};
    }
    // A stripped program may still be known by who made it.
    bool is_known = point_.module && !point_.module->has_debug_info() && point_.module->find_type(expr_.name);
    if (expr_.module.empty())
        return is_known || has_module() ? std::optional(types_of(*point_.module)) : std::nullopt;
    // A list of modules with `:` between them: the first that has the type counts.
    std::vector<TypeScope> all;
    std::string why;
    for (const std::string& name : split_modules(expr_.module)) {
        if (is_header(name)) {
            bool is_32_bit = point_.module && point_.module->is_32_bit();
            if (Result<HeaderTypes*> header = binder_.env.header(name.substr(1, name.size() - 2), is_32_bit))
                all.push_back({[types = *header](const std::string& wanted) { return types->find_type(wanted); },
                               [types = *header] { return types->type_names(); }, fmt::format("`{}`", name)});
            else
                why = header.error().message;
        } else if (DwarfModule* module = named_module(name, why)) {
            all.push_back(types_of(*module));
        }
    }
    if (all.empty()) {
        fail(DiagId::BadTarget, base_range(), fmt::format("`\"{}\"` gives no types: {}", expr_.module, why),
             "name a program or library with debug information, a header in `<>`, or nothing to take the probed "
             "program");
        return std::nullopt;
    }
    TypeScope first = all[0];
    first.find = [all = std::move(all)](const std::string& wanted) -> const Type* {
        for (const TypeScope& one : all)
            if (const Type* type = one.find(wanted))
                return type;
        return nullptr;
    };
    return first;
}

TargetBinder::TypeScope TargetBinder::types_of(DwarfModule& module) {
    DieOffset near = &module == point_.module ? point_.function.die : 0;
    return TypeScope{[&module, near](const std::string& wanted) { return module.find_type(wanted, near); },
                     [&module] { return module.type_names(); }, fmt::format("`{}`", module.path())};
}

std::optional<Place> TargetBinder::cast() {
    std::optional<TypeScope> scope = type_scope();
    if (!scope)
        return std::nullopt;
    std::string name = expr_.name;
    const Type* type = scope->find(name);
    if (!type) {
        std::vector<std::string> names = scope->names();
        // `struct` in front of a typedef's name is the likeliest slip.
        size_t space = name.find(' ');
        std::string bare = name.substr(space == std::string::npos ? 0 : space + 1);
        std::string near = space != std::string::npos && scope->find(bare) ? bare : nearest_name(name, names);
        binder_.diags.report(DiagId::UnknownType, base_range(), fmt::format("no type `{}` in {}", name, scope->where))
            .suggest(near);
        return std::nullopt;
    }
    hir::Expr* at = binder_.lower(*expr_.operand);
    if (!at)
        return std::nullopt;
    if (at->type == hir::ValueType::String) {
        fail(DiagId::TypeMismatch, expr_.operand->range, "`@cast` takes an address, which is a number, not a string");
        return std::nullopt;
    }
    if (at->type != hir::ValueType::Long) // not known yet: it has to become a number
        at = make<hir::Retype>(expr_.operand->range, at, 8u, false);
    // `[i]` counts objects from the address on, as for a pointer.
    bool indexed = !expr_.components.empty() && expr_.components[0].kind == ast::Component::Index;
    const Type* plain = strip(type);
    if (indexed && plain && plain->kind != Type::Array && plain->kind != Type::Pointer)
        type = scope->find(name + "*");
    // "T" is what lies at the address; "T*" is the type of the address itself.
    return place_of_value(at, type, is_kernels());
}

std::optional<Place> TargetBinder::place_of_value(hir::Expr* address, const Type* type, bool kernel) {
    // A value printed with all its members is read many times, but evaluated once.
    if (pretty_depth() > 0 && binder_.hold)
        if (hir::Local* local = binder_.hold(address)) {
            held_ = make<hir::Assign>(expr_.range, make<hir::LocalRef>(expr_.range, local), address);
            address = make<hir::LocalRef>(expr_.range, local);
        }
    Place place;
    place.type = type;
    place.kernel = kernel;
    const Type* plain = strip(type);
    if (plain && plain->kind == Type::Pointer)
        place.parts.push_back({0, 8, PlacePart::Value, address, ""});
    else
        place.address = address;
    return place;
}

// `p->member` where p has got its value from something typed.
std::optional<Place> TargetBinder::pointer() {
    hir::Expr* value = binder_.lower(*expr_.operand);
    if (!value)
        return std::nullopt;
    if (const Type* type = binder_.c_type_of ? binder_.c_type_of(*value) : nullptr)
        // Types from the kernel's debug information do not say whose they are, but the point does.
        return place_of_value(value, type, (type->of_kernel && !point_.syscall) || (point_.kernel && point_.module));
    std::string source = ast::to_source(*expr_.operand);
    fail(DiagId::UnknownType, base_range(), fmt::format("what `{}` points at is not known", source),
         fmt::format("assign it from a `$variable` or @cast in this body, or write `@cast({}, \"struct name\")`",
                     source));
    return std::nullopt;
}

// A variable of the probed program, or of the kernel at any point.
std::optional<Place> TargetBinder::place_of_global(DwarfModule& module, const Variable& variable) {
    if (&module == point_.module)
        return place_of(variable);
    std::optional<Address> linked = module.global_address(variable);
    if (!linked) {
        fail(DiagId::VariableUnavailable, base_range(), fmt::format("`{}` has no address", text(0)));
        return std::nullopt;
    }
    Place place;
    place.type = variable.type;
    place.kernel = true;
    place.address = kernel_address(module, *linked);
    return place.address ? std::optional(place) : std::nullopt;
}

// What the kernel's own types say of a variable: its place on each CPU, or its type. Nullopt if that is nothing.
std::optional<Place> TargetBinder::place_in_kernel(const std::string& name) {
    Result<KernelTypes*> kernel = binder_.env.kernel();
    std::vector<KernelGlobal> found = kernel ? (*kernel)->globals(name) : std::vector<KernelGlobal>();
    if (found.size() != 1)
        return std::nullopt;
    binder_.env.relies_on_kernel = true;
    Place place;
    place.type = found[0].type;
    place.kernel = true;
    place.address = found[0].per_cpu         ? per_cpu_address(*found[0].per_cpu)
                    : binder_.symbol_address ? binder_.symbol_address(name)
                                             : nullptr;
    return place.address ? std::optional(place) : std::nullopt;
}

// `name` is a variable of the kernel's whose type nobody tells.
std::optional<Place> TargetBinder::untyped_in_kernel(const std::string& name, const std::string& why) {
    const Result<std::string>& symbols = binder_.env.kernel_symbols();
    bool is_symbol = false;
    for (std::string_view rest = lines(symbols); auto symbol = next_symbol(rest);)
        is_symbol = is_symbol || (symbol->name == name && symbol->module.empty());
    if ((is_symbol || !symbols) && wants_address_ && expr_.components.empty() && binder_.symbol_address) {
        Place place;
        place.kernel = true;
        place.address = binder_.symbol_address(name);
        return place;
    }
    DiagBuilder report = binder_.diags.report(
        DiagId::NoDebugInfo, base_range(),
        fmt::format("the type of `{}` is in the kernel's debug information only: {}", text(0), why));
    if (is_symbol)
        report.help(
            fmt::format("its address is known: `@cast(&@var(\"{}\", \"kernel\"), \"TYPE\", \"kernel\")`", name));
    else if (Result<KernelTypes*> kernel = binder_.env.kernel())
        report.suggest(nearest_name(name, (*kernel)->global_names()));
    return std::nullopt;
}

// @var("name") and @var("name@file.c").
std::optional<Place> TargetBinder::global() {
    if (is_errno())
        return errno_place();
    std::vector<DwarfModule*> candidates;
    size_t at = expr_.name.find('@');
    std::string name = expr_.name.substr(0, at);
    std::string file = at == std::string::npos ? "" : expr_.name.substr(at + 1);
    bool is_modules = expr_.module.empty() && point_.module && point_.kernel && !point_.point.module.empty() &&
                      !point_.module->globals(name, file).empty();
    if (is_modules) {
        candidates = {point_.module};
    } else if (is_kernels()) {
        if (file.empty())
            if (std::optional<Place> place = place_in_kernel(name))
                return place;
        Result<DwarfModule*> debug = binder_.env.kernel_debug_info();
        if (!debug)
            return untyped_in_kernel(name, debug.error().message);
        candidates = {*debug};
    } else {
        candidates = modules();
    }
    if (candidates.empty())
        return std::nullopt;
    if (candidates[0] != point_.module && !is_kernels()) {
        fail(DiagId::Unsupported, base_range(),
             fmt::format("where `{}` has its variables in the probed process is not known here", candidates[0]->path()),
             "read it in a probe of that program or library");
        return std::nullopt;
    }
    DwarfModule& module = *candidates[0];
    std::vector<Variable> found = module.globals(name, file);
    if (found.empty()) {
        std::optional<int64_t> value;
        if (point_.module == &module && point_.function.has_debug_info)
            value = module.visible_enumerator(point_.function, evaluation_address(), name);
        if (!value)
            value = module.enumerator(name);
        if (value)
            return constant_place(*value);
        std::vector<Variable> elsewhere = file.empty() ? found : module.globals(name);
        DiagBuilder report = binder_.diags.report(
            DiagId::UnknownVariable, base_range(),
            fmt::format("no global variable `{}` in `{}`", name, file.empty() ? module.path() : file));
        if (!elsewhere.empty())
            report.help(fmt::format("one is in `{}`", elsewhere[0].file));
        else
            report.suggest(nearest_name(name, module.global_names()));
        return std::nullopt;
    }
    // The probed function's own source goes first, then what every source sees, then the only one there is.
    if (file.empty() && point_.module == &module && point_.function.has_debug_info)
        for (const Variable& candidate : module.variables_in(point_.function, evaluation_address(), true))
            if (candidate.is_global && candidate.name == name)
                return place_of_global(module, candidate);
    // Of the files that a pattern names, the one with the shortest path.
    if (!file.empty())
        return place_of_global(
            module, *std::ranges::min_element(found, {}, [](const Variable& one) { return one.file.size(); }));
    for (const Variable& candidate : found)
        if (candidate.external)
            return place_of_global(module, candidate);
    if (found.size() > 1 && found[0].file != found[1].file) {
        fail(DiagId::UnknownVariable, base_range(),
             fmt::format("`{}` is the name of {} static variables of other sources", name, found.size()),
             fmt::format("name the file: `@var(\"{}@{}\")`", name, found[0].file));
        return std::nullopt;
    }
    return place_of_global(module, found[0]);
}

} // namespace sonde
