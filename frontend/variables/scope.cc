// The string in `@cast(p, "struct s", "WHERE")` and `@var("x", "WHERE")` is a list, separated by colons:
//
//   kernel, kernel<linux/sched.h>    the kernel's types, or those of one of its headers
//   <stdio.h>                        a header, compiled on demand
//   libc, /usr/bin/bash              a program or library with debug information
//   (nothing)                        the module of the probe point
//
// The first entry with the type is used. An entry without debug information is skipped: a list often names several
// places where a type may be, and an error is only useful if none of them works.
#include "frontend/variables/scope.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/variables/source_program.h"

namespace sonde {
namespace {

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

// Whether the path leads to the probed file, which has another path if the script names it by a symbolic link. Only the
// addresses of its variables are known.
bool is_probed_file(Binding& b, const std::string& path) {
    std::error_code error;
    return b.point.module && b.point.module->has_debug_info() &&
           std::filesystem::equivalent(path, b.point.module->path(), error);
}

// The program or library of this name. Null if it has no debug information; `why` is the reason.
DwarfModule* named_module(Binding& b, const std::string& name, std::string& why) {
    if (Result<std::string> path = find_file(name); !path) {
        why = path.error().message;
    } else if (is_probed_file(b, *path)) {
        return b.point.module;
    } else if (Result<DwarfModule*> module = b.binder.module(*path); !module) {
        why = module.error().message;
    } else if (!(*module)->has_debug_info()) {
        why = fmt::format("`{}` has no debug information", *path);
    } else {
        return *module;
    }
    return nullptr;
}

TypeScope types_of(Binding& b, DwarfModule& module) {
    DieOffset near = &module == b.point.module ? b.point.function.die : 0;
    return TypeScope{[&module, near](const std::string& wanted) { return module.find_type(wanted, near); },
                     [&module] { return module.type_names(); }, fmt::format("`{}`", module.path())};
}

} // namespace

std::vector<DwarfModule*> variable_modules(Binding& b) {
    std::vector<DwarfModule*> found;
    if (b.expr.module.empty()) {
        if (has_module(b))
            found.push_back(b.point.module);
        return found;
    }
    std::string why;
    for (const std::string& name : split_modules(b.expr.module)) {
        if (name == "kernel")
            why = "`kernel` must be the only name";
        else if (is_header(name))
            why = fmt::format("variables of the header `{}` have no address", name);
        else if (DwarfModule* module = named_module(b, name, why))
            found.push_back(module);
    }
    if (found.empty())
        b.fail(DiagId::BadTarget, b.base_range(), fmt::format("`\"{}\"` has no variables: {}", b.expr.module, why),
               "write a program or library with debug information, or nothing for the probed program");
    return found;
}

bool is_kernels(Binding& b) {
    if (b.expr.module.empty())
        return b.point.kernel != nullptr;
    const std::vector<std::string> names = split_modules(b.expr.module);
    const auto is_kernel = [](const std::string& name) { return name == "kernel" || name.starts_with("kernel<"); };
    if (names.size() == 1)
        return is_kernel(names[0]);
    // The first name of the list that has the type.
    for (const std::string& name : names) {
        std::string why;
        if (is_kernel(name)) {
            const Result<KernelTypes*> kernel = b.binder.env.kernel();
            if (kernel && (*kernel)->find_type(b.expr.name))
                return true;
        } else if (DwarfModule* module = is_header(name) ? nullptr : named_module(b, name, why);
                   module && types_of(b, *module).find(b.expr.name)) {
            return false;
        }
    }
    return false;
}

std::optional<TypeScope> type_scope(Binding& b) {
    if (is_kernels(b)) {
        Result<KernelTypes*> kernel = b.binder.env.kernel();
        if (!kernel) {
            b.fail(DiagId::NoDebugInfo, b.base_range(), kernel.error().message);
            return std::nullopt;
        }
        b.needs_same_types = true;
        return TypeScope{[types = *kernel](const std::string& name) { return types->find_type(name); },
                         [types = *kernel] { return types->type_names(); }, "the kernel"};
    }
    // Some types of a stripped program are known by its compiler.
    bool is_known = b.point.module && !b.point.module->has_debug_info() && b.point.module->find_type(b.expr.name);
    if (b.expr.module.empty())
        return is_known || has_module(b) ? std::optional(types_of(b, *b.point.module)) : std::nullopt;
    // A list of modules separated by `:`; the first one with the type is used.
    std::vector<TypeScope> all;
    std::string why;
    for (const std::string& name : split_modules(b.expr.module)) {
        if (name == "kernel") {
            why = fmt::format("the kernel has no `{}`", b.expr.name);
        } else if (is_header(name)) {
            bool is_32_bit = b.point.module && b.point.module->file().is_32_bit();
            if (Result<HeaderTypes*> header = b.binder.env.header(name.substr(1, name.size() - 2), is_32_bit))
                all.push_back({[types = *header](const std::string& wanted) { return types->find_type(wanted); },
                               [types = *header] { return types->type_names(); }, fmt::format("`{}`", name)});
            else
                why = header.error().message;
        } else if (DwarfModule* module = named_module(b, name, why)) {
            all.push_back(types_of(b, *module));
        }
    }
    if (all.empty()) {
        b.fail(
            DiagId::BadTarget, b.base_range(), fmt::format("`\"{}\"` has no types: {}", b.expr.module, why),
            "write a program or library with debug information, a header in `<>`, or nothing for the probed program");
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

} // namespace sonde
