// Refuses java(...), python2... and python3..., with advice on alternatives. SystemTap implements them by code that it
// loads into the traced program, and sonde never loads code there.
#include <fmt/format.h>

#include "frontend/probes/kinds.h"

namespace sonde {

std::vector<ResolvedPoint> resolve_foreign(Resolving& resolving) {
    const ast::PointComponent& first = resolving.components()[0];
    DiagBuilder report = resolving.diags.report(
        DiagId::Unsupported, first.range,
        fmt::format("`{}` probes need an agent inside of the program, and sonde loads nothing into programs",
                    first.name));
    if (first.name == "java")
        report.help("the virtual machine has marks: `process(\"PATH/libjvm.so\").provider(\"hotspot\").mark(\"*\")`");
    else
        report.help("interpreters may have marks: `process(\"PATH\").provider(\"python\").mark(\"function__entry\")`");
    return {};
}

} // namespace sonde
