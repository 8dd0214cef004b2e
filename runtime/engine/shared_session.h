// A session that is a part of an interactive session: several plans run side by side and share their globals
// (runtime/plan/shared_globals.h).
#pragma once

#include <functional>

#include "runtime/load/shared_maps.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

struct SharedSession {
    const SharedMaps& maps;
    // Called once if the script has called exit() or abort(), before the probes are detached.
    std::function<void()> exited = [] {};

    // While the interactive session is paused, timers do not run, and new probes are armed without running. The owner
    // of the interactive session pauses the handlers in the kernel by the state of each session.
    bool is_paused() const {
        return __atomic_load_n(reinterpret_cast<const uint64_t*>(maps.memory() + plan::shared_paused),
                               __ATOMIC_SEQ_CST) != 0;
    }
};

} // namespace sonde
