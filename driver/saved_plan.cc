#include "driver/saved_plan.h"

#include <sys/utsname.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/global_value.h"
#include "driver/relink.h"
#include "frontend/types/kernel_types.h"
#include "runtime/containers/groups.h"
#include "runtime/plan/plan_file.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Where members are is compiled into the handlers.
Result<void> check_kernel(const plan::Plan& plan) {
    if (plan.kernel.empty())
        return {};
    Result<std::unique_ptr<KernelTypes>> types = KernelTypes::open();
    if (types && (*types)->fingerprint() == plan.kernel_types) {
        Result<void> fits;
        for (const plan::ModuleTypes& module : plan.module_types)
            if (fits.ok())
                fits = (*types)->check_module(module.name, module.fingerprint);
        return fits;
    }
    utsname system{};
    uname(&system);
    return Error(
        fmt::format("it was translated for the kernel {}, whose types are not those of the running one, {}\n"
                    "  translate it again: here, or elsewhere with `-r` and this kernel's vmlinuz, or a copy of its "
                    "/sys/kernel/btf/vmlinux",
                    plan.kernel, system.release));
}

} // namespace

bool is_saved_plan(const Options& options) {
    return !options.has_script && options.tool.empty() && !options.list && options.why.empty() &&
           !options.positional.empty() && options.positional[0].ends_with(".sonde");
}

Result<std::string> save_plan(plan::Plan& plan, Translation& t, const Options& options, const plan::Origin* origin) {
    if (const KernelTypes* types = t.env.needed_kernel()) {
        const std::string& release = t.parse_options.kernel_release;
        plan.kernel = t.other_kernel && release.empty() ? t.other_kernel->path : release;
        plan.kernel_types = types->fingerprint();
        std::set<std::string> modules = t.env.modules_for_c;
        modules.insert(types->modules_used().begin(), types->modules_used().end());
        for (const std::string& module : modules) {
            Result<uint64_t> found = types->module_fingerprint(module);
            if (!found)
                return std::move(found).error();
            plan.module_types.push_back({module, *found});
        }
    }
    if (origin) {
        plan.origin = *origin;
    } else {
        plan.origin = describe_origin(options);
        plan.origin.scripts = std::move(t.texts.scripts);
        plan.origin.library = std::move(t.texts.library);
    }
    std::string path = (options.module.empty() ? plan.module : options.module) + ".sonde";
    if (Result<void> saved = plan::save_file(plan, path); !saved)
        return std::move(saved).error();
    return path;
}

Result<void> set_globals(plan::Plan& plan, const Options& options) {
    for (const auto& [name, value] : options.globals) {
        const auto global = std::ranges::find(plan.globals, name, &plan::Global::name);
        if (global == plan.globals.end() || !global->is_settable) {
            warn(fmt::format("-G {}={}: the plan has no global `{}` that can be set", name, value, name));
            continue;
        }
        const GlobalValue given = read_global_value(value, plan.max_string);
        if (Result<int64_t> number = number_of_global(name, given); global->type == plan::Value::Long && !number)
            return std::move(number).error();
        if (std::string cut = cut_of_global(name, given); !cut.empty())
            warn(cut);
        global->initial_long = given.number.value_or(0);
        global->initial_string = given.text;
    }
    return {};
}

void set_groups(plan::Plan& plan, const Options& options) {
    for (size_t i = 0; i < plan.groups.size() && i < options.groups.size(); i++) {
        plan.groups[i].kind = options.groups[i].kind;
        plan.groups[i].name = options.groups[i].name;
    }
    for (size_t i = plan.groups.size(); i < options.groups.size(); i++)
        plan.groups.push_back(options.groups[i]);
}

Result<void> check_saved_plan(const plan::Plan& plan, const Options& options) {
    const std::string& name = options.positional[0];
    if (Result<void> fits = check_kernel(plan); !fits)
        return std::move(fits).error().in(name);
    // Whether handlers look at the target is compiled into them.
    if (Result<void> fits = check_target(plan, options, options); !fits)
        return fits;
    if (!options.groups.empty() && !plan.filter_groups && !plan.bpf_object.empty())
        return Error(fmt::format(
            "{} was made without {}, and its handlers run for all processes: translate it with that "
            "option, here with `sonde --relink {} {} {}`",
            name, option_of(options.groups[0].kind), name, option_of(options.groups[0].kind), options.groups[0].name));
    // With fewer, paths of the others would be left without a container.
    if (!options.groups.empty() && options.groups.size() < plan.groups.size())
        return Error(
            fmt::format("{} was made for {}: give as many, or none for those", name, describe_groups(plan.groups)));
    const bool has_target = !options.command.empty() || options.target_pid != 0;
    if (has_target && !plan.filter_target && !plan.bpf_object.empty())
        warn(fmt::format("{} was made without -c and -x: its handlers in the kernel run for all processes", name));
    return {};
}

} // namespace sonde
