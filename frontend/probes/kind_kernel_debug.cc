// kernel.function("f@file.c"), .inline, .label, .callee and kernel.statement(...): what only debug information tells.
//
// Distributions have the kernel's in a package of its own (Debian: linux-image-RELEASE-dbg), a file `vmlinux` with
// DWARF. It is read as a program's is; the places become breakpoints, by symbol and offset, so that it does not matter
// where the kernel was loaded.
#include <fmt/format.h>

#include "frontend/probes/kind_kernel.h"
#include "frontend/probes/kind_process.h"

namespace sonde {
namespace {

// A point of the program `vmlinux` as one of the running kernel; nullopt where no symbol covers it.
std::optional<ResolvedPoint> in_running_kernel(ResolvedPoint point, KernelTypes* kernel) {
    point.kind = point.is_return ? plan::ProbeKind::Kretprobe : plan::ProbeKind::Kprobe;
    point.kernel = kernel;
    // At a return the entry is where the return address lies on top of the stack.
    if (point.is_return)
        point.address = point.entry_address = point.function.entry;
    std::optional<std::pair<std::string, Address>> symbol = point.module->symbol_at(point.address);
    if (!symbol)
        return std::nullopt;
    // The kernel finds a place by the only function that has the symbol, else by where its code begins.
    if (constexpr const char* mark = "_stext"; point.module->is_ambiguous(symbol->first))
        if (std::optional<Address> start = point.module->symbol_address(mark))
            symbol = std::pair(std::string(mark), *start);
    point.point.path.clear();
    point.point.build_id.clear();
    point.point.symbol = symbol->first;
    point.point.offset = point.point.entry_offset = point.address - symbol->second;
    return point;
}

void explain_no_debug_info(Resolving& resolving, const std::string& why) {
    const ast::PointComponent& place = *resolving.at(1);
    DiagBuilder report = resolving.diags.report(
        DiagId::NoDebugInfo, place.range,
        fmt::format("`{}` needs the kernel's debug information: {}", point_text(resolving.point), why));
    report.help("its package is linux-image-RELEASE-dbg in Debian, kernel-debuginfo elsewhere");
    size_t file = place.text.find('@');
    if (place.name == "function" && file != std::string::npos)
        report.help(fmt::format("`kernel.function({})` needs none", quoted(place.text.substr(0, file))));
    else
        report.help("`kernel.function(\"NAME\")` and `kernel.trace(\"NAME\")` need none");
}

} // namespace

bool needs_debug_info(Resolving& resolving) {
    const ast::PointComponent* place = resolving.at(1);
    if (place->name == "statement")
        return place->arg == ast::PointComponent::String || !resolving.at(2) || resolving.at(2)->name != "absolute";
    if (place->arg == ast::PointComponent::Number || place->text.find('@') != std::string::npos)
        return true;
    const ast::PointComponent* suffix = resolving.at(2);
    return suffix && (suffix->name == "inline" || suffix->name == "label" || suffix->name.starts_with("callee"));
}

std::vector<ResolvedPoint> resolve_kernel_debug(Resolving& resolving) {
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    Result<DwarfModule*> module = resolving.env.kernel_debug_info();
    if (!module) {
        explain_no_debug_info(resolving, module.error().message);
        return {};
    }
    ProcessTarget target;
    target.module = *module;
    target.text = "kernel";
    std::vector<ResolvedPoint> points;
    for (ResolvedPoint& place : resolve_places(resolving, 1, [&] { return std::vector{target}; }))
        if (std::optional<ResolvedPoint> point = in_running_kernel(std::move(place), kernel))
            points.push_back(*std::move(point));
    return points;
}

} // namespace sonde
