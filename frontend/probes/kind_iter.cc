// Resolves kernel.iter("task"), which visits each task once, and other iterators: kernel.iter("task_file") visits all
// open files of all tasks, kernel.iter("task_vma") all memory mappings.
//
// For each iterator the kernel has a function bpf_iter_NAME; its parameters are the handler's variables (Linux 5.8,
// commit "bpf: Introduce bpf_iter"). The first parameter is `meta`, the second is the visited object. In iterators over
// tasks, the second parameter is the task.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

constexpr std::string_view prefix = "bpf_iter_";

// The kernel also iterates over sockets, maps and programs. Those iterators are not offered: a handler's pid() and
// execname() mean the visited task, and such an iterator does not visit tasks.
bool is_about_tasks(const KernelFunction& iterator) {
    return iterator.type && iterator.type->members.size() > 1 && iterator.type->members[1].name == "task";
}

std::vector<KernelFunction> iterators(KernelTypes& kernel, const std::string& pattern) {
    const std::string in_kernel;
    std::vector<KernelFunction> found = kernel.functions(std::string(prefix) + pattern, &in_kernel);
    std::erase_if(found, [](const KernelFunction& one) { return !is_about_tasks(one); });
    return found;
}

std::string name_of(const KernelFunction& iterator) { return iterator.name.substr(prefix.size()); }

} // namespace

std::vector<ResolvedPoint> resolve_kernel_iter(Resolving& resolving) {
    const ast::PointComponent& iterator = *resolving.at(1);
    if (!expect_kernel(resolving) || !expect_argument(resolving, iterator, ast::PointComponent::String) ||
        !expect_end(resolving, 2))
        return {};
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    std::vector<ResolvedPoint> points;
    for (const KernelFunction& one : iterators(*kernel, iterator.text)) {
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Iterator;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.prototype = one.type;
        resolved.point.symbol = name_of(one);
        resolved.point.function = resolved.point.symbol;
        resolved.point.pp = fmt::format("kernel.iter({})", quoted(resolved.point.symbol));
        resolved.sharing.only = resolved.point.pp;
        points.push_back(std::move(resolved));
    }
    if (!points.empty())
        return points;
    std::vector<std::string> names;
    for (const KernelFunction& one : iterators(*kernel, "*"))
        names.push_back(name_of(one));
    DiagBuilder report = resolving.diags.report(
        DiagId::NoMatch, iterator.arg_range, fmt::format("the kernel has no iterator `{}` over tasks", iterator.text));
    if (names.empty())
        report.help("the kernel has no iterators over tasks; Linux 5.8 and later have them");
    else if (std::string near = nearest_name(iterator.text, names); !near.empty() && !has_wildcard(iterator.text))
        report.suggest(near);
    else
        report.help(fmt::format("the iterators are `{}`", fmt::join(names, "`, `")));
    return {};
}

} // namespace sonde
