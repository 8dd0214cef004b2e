// Resolves begin, end and error, each with an optional order, and never.
#include "frontend/probes/kinds.h"
#include "runtime/plan/kinds.h"

namespace sonde {

std::vector<ResolvedPoint> resolve_begin(Resolving& resolving) {
    const ast::PointComponent& first = resolving.components()[0];
    bool never = first.name == "never";
    if ((never || first.arg != ast::PointComponent::None) &&
        !expect_argument(resolving, first, never ? ast::PointComponent::None : ast::PointComponent::Number))
        return {};
    if (!expect_end(resolving, 1))
        return {};
    ResolvedPoint resolved;
    resolved.kind = never                   ? plan::ProbeKind::Never
                    : first.name == "begin" ? plan::ProbeKind::Begin
                    : first.name == "end"   ? plan::ProbeKind::End
                                            : plan::ProbeKind::Error;
    resolved.order = first.number;
    resolved.point.pp = point_text(resolving.point);
    return {resolved};
}

} // namespace sonde
