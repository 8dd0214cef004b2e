#include "frontend/variables/sources.h"

namespace sonde {

const VariableSource& source_of(const ResolvedPoint& point) {
    if (plan::is_file(point.kind))
        return file_source;
    if (point.syscall)
        return syscall_source;
    if (plan::is_about(point.kind, plan::Subject::Packet))
        return packet_source;
    if (plan::is_about(point.kind, plan::Subject::SecurityHook))
        return security_hook_source;
    if (point.kernel && !point.module)
        return prototype_source;
    if (point.mark)
        return mark_source;
    if (point.plt)
        return plt_source;
    return plan::is_about(point.kind, plan::Subject::SystemCall) ? process_syscall_source : program_source;
}

} // namespace sonde
