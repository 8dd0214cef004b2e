// A saved plan runs later, perhaps on another machine and with other options:
//
//     sonde -p4 -m reads -e 'global limit = 1  probe vfs.read { ... }'
//     sonde reads.sonde -G limit=5
//
// The parts of its command line differ in one respect: whether the handlers contain them as code. Globals, the names of
// groups, and labels are data of the plan, so new ones replace them here. The offsets of kernel types and the tests for
// the target and for groups are code. For these, sonde can only check that the session fits, and otherwise ask for a
// translation.
#include "driver/saved_plan.h"

#include <sys/utsname.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/global_value.h"
#include "base/label_names.h"
#include "driver/codegen_facts.h"
#include "frontend/types/kernel_types.h"
#include "runtime/containers/groups.h"
#include "runtime/kernel/features.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/task_arrays.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Checks that the running kernel has the plan's types. The offsets of their members are compiled into the handlers.
Result<void> check_kernel(const plan::Plan& plan) {
    if (plan.kernel.release.empty())
        return {};
    Result<std::unique_ptr<KernelTypes>> types = KernelTypes::open();
    if (types && (*types)->fingerprint() == plan.kernel.types) {
        Result<void> fits;
        for (const plan::ModuleTypes& module : plan.kernel.modules)
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
                    plan.kernel.release, system.release));
}

// Checks that handlers find the elements of arrays in tasks on this kernel, and that no output of this session has to.
Result<void> check_task_arrays(const plan::Plan& plan, const Options& options) {
    for (const plan::Global& array : plan.globals) {
        if (!plan::is_in_tasks(array))
            continue;
        if (!has_task_storage(plan::interrupts_others(array)))
            return Error(
                fmt::format("it keeps the elements of `{}` with the threads, where handlers do not always find "
                            "them on this kernel: translate it again here with `--relink`",
                            array.name));
        if (shows_arrays(options.sinks))
            return Error(
                fmt::format("it keeps the elements of `{}` with the threads, where no output can read them: add "
                            "`--relink`, which translates it again for this output",
                            array.name));
    }
    return {};
}

// Checks that the plan fits the target and the groups of this session.
Result<void> check_limits(const plan::Plan& plan, const Options& options) {
    const std::string& name = options.driver.saved_plan;
    const Groups& groups = options.translate.groups;
    const bool has_target = options.session.has_target();
    if (plan.filter_target && !has_target)
        return Error(why_no_session_without_target(name));
    if (!groups.empty() && !plan.filter_groups && !plan.bpf_object.empty())
        return Error(fmt::format("{0} was made without {1}, and its handlers run for all processes: translate it with "
                                 "that option, here with `sonde --relink {0} {1} {2}`",
                                 name, option_of(groups[0].kind), groups[0].name));
    // With fewer groups, the paths of the others would not belong to any container.
    if (!groups.empty() && groups.size() < plan.groups.size())
        return Error(
            fmt::format("{} was made for {}: give as many groups, or none", name, describe_groups(plan.groups)));
    if (has_target && !plan.filter_target && !plan.bpf_object.empty())
        warn(fmt::format("{} was made without -c and -x: its handlers in the kernel run for all processes", name));
    return {};
}

// Applies -G.
Result<void> set_globals(plan::Plan& plan, const Assignments& globals) {
    for (const auto& [name, value] : globals) {
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

// Replaces the plan's groups by those of --container and the like. The plan's root directories stay, because its points
// lie below them.
void set_groups(plan::Plan& plan, const Groups& groups) {
    for (size_t i = 0; i < groups.size(); i++) {
        plan::GroupName& group = i < plan.groups.size() ? plan.groups[i] : plan.groups.emplace_back();
        group.kind = groups[i].kind;
        group.name = groups[i].name;
    }
}

// Replaces the plan's labels by those of --label.
Result<void> set_labels(plan::Plan& plan, const Labels& labels) {
    for (const auto& [array, names] : labels) {
        const auto global = std::ranges::find_if(
            plan.globals, [&, &array = array](const plan::Global& one) { return one.is_own && one.name == array; });
        const std::string why = global == plan.globals.end() ? "the plan has no such array"
                                                             : why_no_labels(array, global->keys.size(), names);
        if (!why.empty())
            return Error(fmt::format("--label {}: {}", array, why));
        global->labels = names;
    }
    return {};
}

} // namespace

Result<std::string> save_plan(const plan::Plan& plan) {
    const std::string& name = plan.translate.module;
    std::string path = (name.empty() ? plan.module : name) + ".sonde";
    if (Result<void> saved = plan::save_file(plan, path); !saved)
        return std::move(saved).error();
    return path;
}

Result<plan::Plan> load_saved_plan(const Options& options) {
    Result<plan::Plan> plan = plan::load_file(options.driver.saved_plan);
    if (!plan)
        return plan;
    if (Result<void> fits = check_kernel(*plan); !fits)
        return std::move(fits).error().in(options.driver.saved_plan);
    if (Result<void> fits = check_task_arrays(*plan, options); !fits)
        return std::move(fits).error().in(options.driver.saved_plan);
    if (Result<void> fits = check_limits(*plan, options); !fits)
        return std::move(fits).error();
    if (Result<void> set = set_globals(*plan, options.translate.globals); !set)
        return std::move(set).error();
    set_groups(*plan, options.translate.groups);
    if (Result<void> set = set_labels(*plan, options.translate.labels); !set)
        return std::move(set).error();
    return plan;
}

} // namespace sonde
