// Resolves __frame("FILE", ...): a function of a copied stack (runtime/plan/stack_copy.h), for scripts that
// driver/callers.cc writes:
//
//     __frame("FILE").address(ADDRESS).function(M).number(N)
//
// M is the number of the function at the address, as linked in the file. Functions that are inlined there come first,
// the innermost one is 0. N is the number of the frame in the copy.
//
// The handlers run in the session's process, like those of `begin`. Their variables are those of a probe at this
// instruction, except that registers and memory are read from the copy. Without a copy, nothing can be read.
#include <fmt/format.h>

#include "frontend/dwarf/call_returns.h"
#include "frontend/dwarf/frames.h"
#include "frontend/probes/kinds.h"
#include "runtime/plan/kinds.h"

namespace sonde {

std::vector<ResolvedPoint> resolve_frame(Resolving& resolving) {
    const ast::PointComponent& file = resolving.components()[0];
    if (!expect_argument(resolving, file, ast::PointComponent::String))
        return {};
    uint64_t numbers[3] = {};
    constexpr const char* names[] = {"address", "function", "number"};
    for (size_t i = 0; i < std::size(numbers); i++) {
        const ast::PointComponent* component = resolving.at(i + 1);
        if (!component || component->name != names[i]) {
            report_component(resolving, i + 1, {names[i]});
            return {};
        }
        if (!expect_argument(resolving, *component, ast::PointComponent::Number))
            return {};
        numbers[i] = static_cast<uint64_t>(component->number);
    }
    const auto [address, function, number] = numbers;
    if (!expect_end(resolving, std::size(numbers) + 1))
        return {};
    Result<DwarfModule*> module = resolving.env.module(file.text);
    if (!module) {
        resolving.diags.report(DiagId::NoMatch, file.arg_range, module.error().message);
        return {};
    }
    Frames& frames = (*module)->call_returns().frames();
    frames.accept_entry_values();
    const std::vector<FunctionInstance> functions = frames.functions_at(address);
    if (function >= functions.size()) {
        resolving.diags.report(DiagId::NoMatch, file.range,
                               fmt::format("`{}` has {} functions at {:#x}", file.text, functions.size(), address));
        return {};
    }
    ResolvedPoint resolved;
    resolved.kind = plan::ProbeKind::Begin;
    resolved.module = *module;
    resolved.function = functions[function];
    resolved.address = address;
    resolved.is_go = resolved.function.is_go;
    resolved.point.pp = point_text(resolving.point);
    resolved.point.function = resolved.function.name;
    resolved.point.offset = number;
    return {resolved};
}

} // namespace sonde
