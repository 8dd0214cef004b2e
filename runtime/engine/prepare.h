// Loads what a plan has for the kernel and for this process, and fills the data area.
#pragma once

#include "base/result.h"
#include "runtime/engine/session_state.h"

namespace sonde {

// Fills `session.data`, `session.host_object` and the data area. Errors: as KernelObject::load and HostObject::load; an
// address of the kernel that is not known.
Result<void> prepare(Session& session, const plan::LinkKinds& links);

} // namespace sonde
