// `@cast(expr, "type")` and `@var("name")`: from an address or a global's name to a place.
#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/bind_impl.h"

namespace sonde {

// The third argument is a list of modules with `:` between them. Reports and gives false if the probed program is not
// among them.
bool TargetBinder::is_own_module() {
    std::string_view rest = expr_.module;
    if (rest.empty())
        return true;
    std::string first(rest.substr(0, rest.find(':')));
    for (bool more = true; more;) {
        size_t colon = rest.find(':');
        std::string name(rest.substr(0, colon));
        more = colon != std::string_view::npos;
        rest = more ? rest.substr(colon + 1) : "";
        if (name == point_.module->path())
            return true;
        Result<std::string> path = name.empty() || name.find('<') != std::string::npos ? Error("") : find_in_path(name);
        if (path && *path == point_.module->path())
            return true;
    }
    const char* what = expr_.base == ast::TargetExpr::Cast ? "types" : "variables";
    std::string of;
    if (first.find('<') != std::string::npos)
        of = fmt::format("{} from the header `{}`", what, first.substr(first.find('<')));
    else
        of = fmt::format("{} of `{}`, which is not the probed program,", what, first);
    fail(DiagId::Unsupported, base_range(), fmt::format("{} are not available yet", of),
         fmt::format("leave `\"{}\"` out to take the {} of the probed program", expr_.module, what));
    return false;
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
        return TypeScope{[types = *kernel](const std::string& name) { return types->find_type(name); },
                         [types = *kernel] { return types->type_names(); }, "the kernel"};
    }
    if (!has_module() || !is_own_module())
        return std::nullopt;
    DwarfModule& module = *point_.module;
    return TypeScope{
        [&module, near = point_.function.die](const std::string& name) { return module.find_type(name, near); },
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
    // A value printed with all its members is read many times, but the operand is evaluated once.
    if (pretty_depth() > 0 && binder_.hold)
        if (hir::Local* local = binder_.hold(at)) {
            held_ = make<hir::Assign>(expr_.range, make<hir::LocalRef>(expr_.range, local), at);
            at = make<hir::LocalRef>(expr_.range, local);
        }
    // `[i]` counts objects from the address on, as for a pointer.
    bool indexed = !expr_.components.empty() && expr_.components[0].kind == ast::Component::Index;
    const Type* plain = strip(type);
    if (indexed && plain && plain->kind != Type::Array && plain->kind != Type::Pointer)
        type = scope->find(name + "*");
    Place place;
    place.type = type;
    place.kernel = is_kernels();
    // "T" is what lies at the address; "T*" is the type of the address itself.
    if (type->kind == Type::Pointer)
        place.parts.push_back({0, 8, PlacePart::Value, at, ""});
    else
        place.address = at;
    return place;
}

// @var("name") and @var("name@file.c").
std::optional<Place> TargetBinder::global() {
    if (is_kernels()) {
        fail(DiagId::Unsupported, base_range(),
             fmt::format("`{}`: the places of the kernel's variables are not available", text(0)));
        return std::nullopt;
    }
    if (!has_module() || !is_own_module())
        return std::nullopt;
    DwarfModule& module = *point_.module;
    size_t at = expr_.name.find('@');
    std::string name = expr_.name.substr(0, at);
    std::string file = at == std::string::npos ? "" : expr_.name.substr(at + 1);
    std::vector<Variable> found = module.globals(name, file);
    if (found.empty()) {
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
    if (file.empty() && point_.function.has_debug_info)
        for (const Variable& candidate : module.variables_in(point_.function, evaluation_address(), true))
            if (candidate.is_global && candidate.name == name)
                return place_of(candidate);
    for (const Variable& candidate : found)
        if (candidate.external)
            return place_of(candidate);
    if (found.size() > 1 && found[0].file != found[1].file) {
        fail(DiagId::UnknownVariable, base_range(),
             fmt::format("`{}` is the name of {} static variables of other sources", name, found.size()),
             fmt::format("name the file: `@var(\"{}@{}\")`", name, found[0].file));
        return std::nullopt;
    }
    return place_of(found[0]);
}

} // namespace sonde
