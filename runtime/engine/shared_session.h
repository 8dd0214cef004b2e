// A session whose globals other sessions share (runtime/plan/shared_globals.h): one that is a part of an interactive
// session (driver/repl), or one to which probes can be added (--editable), with its added probes.
#pragma once

#include <functional>

#include "runtime/load/shared_maps.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

struct SharedSession {
    const SharedMaps& maps;
    // Called once if the script has called exit() or abort(), before the probes are detached.
    std::function<void()> exited = [] {};
    // The socket of the editor (runtime/engine/editor_channel.h), whose probes share the maps. -1: this session is a
    // part of another one, and ends when its handlers have nothing to do any more.
    int editor = -1;
    bool is_part() const { return editor < 0; }

    // While the interactive session is paused, timers do not run, and new probes are armed without running. The owner
    // of the interactive session pauses the handlers in the kernel by the state of each session.
    bool is_paused() const {
        return __atomic_load_n(reinterpret_cast<const uint64_t*>(maps.memory() + plan::shared_paused),
                               __ATOMIC_SEQ_CST) != 0;
    }
};

} // namespace sonde
