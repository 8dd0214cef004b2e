// Resolves kernel.lsm("hook") and lsm.hook: the hooks of the kernel's security modules.
//
// The kernel has a function bpf_lsm_HOOK for each hook, with the hook's parameters (Linux 5.7, commit "bpf: Introduce
// BPF_PROG_TYPE_LSM"). A program there allows the operation by returning 0, or denies it by a negative error number.
#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/kind_kernel.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;

constexpr const char* prefix = "bpf_lsm_";

std::vector<ResolvedPoint> hooks_of(Resolving& resolving, const std::string& pattern, Range range) {
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    std::string in_kernel;
    std::vector<KernelFunction> found = kernel->functions(prefix + pattern, &in_kernel);
    if (found.empty()) {
        std::vector<std::string> names;
        for (const KernelFunction& one : kernel->functions(std::string(prefix) + "*", &in_kernel))
            names.push_back(one.name.substr(std::string_view(prefix).size()));
        DiagBuilder report = resolving.diags.report(DiagId::NoMatch, range,
                                                    fmt::format("the kernel has no security hook `{}`", pattern));
        if (names.empty())
            report.help("the kernel is built without hooks for BPF (CONFIG_BPF_LSM)");
        else if (!has_wildcard(pattern))
            report.suggest(nearest_name(pattern, names));
        return {};
    }
    const std::string why = resolving.env.kernel_facts->why_no_decision(plan::ProbeKind::Lsm, "");
    if (!why.empty() && !resolving.env.listing) {
        resolving.diags
            .report(DiagId::Unsupported, resolving.components()[0].range,
                    fmt::format("security hooks cannot be probed on this kernel: {}", why))
            .help(fmt::format("probe `kernel.function(\"security_{}\")` instead, which sees the same calls", pattern));
        return {};
    }
    std::vector<ResolvedPoint> points;
    for (const KernelFunction& one : found) {
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Lsm;
        resolved.in_kernel = true;
        resolved.kernel = kernel;
        resolved.prototype = one.type;
        resolved.point.symbol = one.name.substr(std::string_view(prefix).size());
        resolved.point.function = resolved.point.symbol;
        resolved.point.pp = fmt::format("kernel.lsm({})", quoted(resolved.point.symbol));
        resolved.sharing.only = resolved.point.pp;
        points.push_back(std::move(resolved));
    }
    return points;
}

} // namespace

std::vector<ResolvedPoint> resolve_kernel_lsm(Resolving& resolving) {
    const PointComponent& hook = *resolving.at(1);
    if (!expect_kernel(resolving) || !expect_argument(resolving, hook, PointComponent::String) ||
        !expect_end(resolving, 2))
        return {};
    return hooks_of(resolving, hook.text, hook.arg_range);
}

std::vector<ResolvedPoint> resolve_lsm(Resolving& resolving) {
    const PointComponent* hook = resolving.at(1);
    if (!expect_argument(resolving, resolving.components()[0], PointComponent::None))
        return {};
    if (!hook) {
        report_component(resolving, 1, {"file_open", "bprm_check_security", "socket_bind"});
        return {};
    }
    if (!expect_argument(resolving, *hook, PointComponent::None) || !expect_end(resolving, 2))
        return {};
    return hooks_of(resolving, hook->name, hook->range);
}

} // namespace sonde
