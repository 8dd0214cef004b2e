#include "codegen/emit/facts.h"

#include "runtime/plan/kinds.h"

namespace sonde {

bool is_at_syscalls(const hir::Handler& handler) {
    if (!plan::is_about(handler.kind, plan::Subject::Tracepoint))
        return plan::is_about(handler.kind, plan::Subject::SystemCall);
    const plan::Point& point = handler.points[0];
    const bool is_every_call =
        handler.points.size() == 1 && (point.symbol == "sys_enter" || point.symbol == "sys_exit");
    return point.is_system_call() || is_every_call;
}

} // namespace sonde
