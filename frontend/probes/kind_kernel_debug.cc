// Resolves kernel.function("f@file.c"), .inline, .label, .callee and kernel.statement(...), and the same after
// module("m"): everything that needs the kernel's debug information.
//
// Distributions ship this debug information in a separate package (Debian: linux-image-RELEASE-dbg), which contains a
// file `vmlinux` with DWARF and an object file for each module. sonde reads these files like programs. The found
// addresses become breakpoints at a symbol plus an offset, because the kernel is loaded at another address after every
// boot (KASLR).
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/probes/kind_kernel.h"
#include "frontend/probes/kind_process.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// Converts a point in `vmlinux` or in a module's file to a point in the running kernel. Returns nullopt if no symbol
// covers the point.
std::optional<ResolvedPoint> in_running_kernel(ResolvedPoint point, KernelTypes* kernel, const std::string& module) {
    point.kind = point.is_return ? plan::ProbeKind::Kretprobe : plan::ProbeKind::Kprobe;
    point.kernel = kernel;
    // For a return probe, the kernel needs the function's entry, where the return address is on top of the stack.
    if (point.is_return)
        point.address = point.entry_address = point.function.entry;
    // A kretprobe is at the function's entry, so all calls hit it, not only the tail call.
    if (point.jump && point.is_return)
        return std::nullopt;
    // A probe in the kernel is a symbol and an offset, so all addresses of the point must have the same distance in
    // memory as in the file. The parts of a module's function (`.cold`) are in other sections, which the kernel loads
    // at any address. There, offsets in the file and addresses have different distances.
    const auto is_elsewhere = [&](const Arrival& one) {
        const ProgramFile& file = point.module->file();
        return file.file_offset(one.from).value_or(0) - file.file_offset(point.address).value_or(0) !=
               one.from - point.address;
    };
    if (std::ranges::any_of(point.repeats, is_elsewhere))
        return std::nullopt;
    const Address probed = point.jump.value_or(point.address);
    std::optional<std::pair<std::string, Address>> symbol = point.module->symbols().at(probed);
    if (!symbol)
        return std::nullopt;
    // The kernel finds a place by a symbol, which must be unique. If it is not, use the offset from another symbol.
    if (point.module->symbols().is_ambiguous(symbol->first)) {
        if (!module.empty())
            symbol = point.module->symbols().unique_before(probed);
        else if (std::optional<Address> start = point.module->symbols().address_of("_stext"))
            symbol = std::pair(std::string("_stext"), *start);
        if (!symbol)
            return std::nullopt;
    }
    point.point.path.clear();
    point.point.build_id.clear();
    point.point.module = module;
    point.point.symbol = symbol->first;
    point.point.offset = point.point.entry_offset = probed - symbol->second;
    return point;
}

// `head` is `kernel` or `module("m")`.
void explain_no_debug_info(Resolving& resolving, const std::string& head, const std::string& why) {
    const ast::PointComponent& place = *resolving.at(1);
    DiagBuilder report =
        resolving.diags.report(DiagId::NoDebugInfo, place.range,
                               fmt::format("`{}` needs the {} debug information: {}", point_text(resolving.point),
                                           head == "kernel" ? "kernel's" : "module's", why));
    report.help("install linux-image-RELEASE-dbg (Debian) or kernel-debuginfo (elsewhere)");
    size_t file = place.text.find('@');
    if (place.name == "function" && file != std::string::npos)
        report.help(
            fmt::format("`{}.function({})` needs no debug information", head, quoted(place.text.substr(0, file))));
    else
        report.help(
            fmt::format("`{}.function(\"NAME\")` and `kernel.trace(\"NAME\")` need no debug information", head));
}

// Returns the targets' points in the running kernel. `names` has the module of each target; empty for the kernel
// itself.
std::vector<ResolvedPoint> points_of(Resolving& resolving, KernelTypes* kernel,
                                     const std::vector<ProcessTarget>& targets,
                                     const std::map<const DwarfModule*, std::string>& names) {
    std::vector<ResolvedPoint> points;
    for (ResolvedPoint& place : resolve_places(resolving, 1, [&] { return targets; })) {
        if (!place.listed.empty()) {
            points.push_back(std::move(place));
            continue;
        }
        const std::string& module = names.at(place.module);
        if (std::optional<ResolvedPoint> point = in_running_kernel(std::move(place), kernel, module))
            points.push_back(*std::move(point));
    }
    return points;
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
        explain_no_debug_info(resolving, "kernel", module.error().message);
        return {};
    }
    ProcessTarget target;
    target.module = *module;
    target.text = "kernel";
    target.is_kernel = true;
    return points_of(resolving, kernel, {target}, {{*module, ""}});
}

std::vector<ResolvedPoint> resolve_module_debug(Resolving& resolving) {
    KernelTypes* kernel = open_kernel(resolving);
    if (!kernel)
        return {};
    const ast::PointComponent &wanted = resolving.components()[0], &place = *resolving.at(1);
    // An address is not allowed here: a module's sections have no addresses until the module is loaded.
    if (!expect_argument(resolving, place, ast::PointComponent::String))
        return {};
    std::vector<std::string> names = {wanted.text};
    if (has_wildcard(wanted.text)) {
        names = kernel->modules();
        std::erase_if(names, [&](const std::string& name) { return !glob_match(wanted.text, name); });
    }
    std::vector<ProcessTarget> targets;
    std::map<const DwarfModule*, std::string> opened;
    std::string why = fmt::format("the kernel has no module `{}`", wanted.text);
    for (const std::string& name : names) {
        Result<DwarfModule*> module = resolving.env.module_debug_info(name);
        if (!module) {
            why = module.error().message;
            continue;
        }
        ProcessTarget& target = targets.emplace_back();
        target.module = *module;
        target.text = fmt::format("module({})", quoted(name));
        target.is_kernel = true;
        opened.emplace(*module, name);
    }
    if (!targets.empty())
        return points_of(resolving, kernel, targets, opened);
    explain_no_debug_info(resolving, fmt::format("module({})", quoted(wanted.text)), why);
    return {};
}

} // namespace sonde
