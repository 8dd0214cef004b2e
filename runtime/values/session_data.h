// The data of one session: its globals, wherever they live, what its handlers' hits came to, and what turns their bytes
// into text. The engine fills it; sinks read it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/process_numbers.h"
#include "runtime/symbols/symbols.h"
#include "runtime/values/hit_report.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

// Errors of one host handler.
struct HandlerErrors {
    uint64_t count = 0;
    std::string first; // the first one's text
};

// Members are destroyed from the last to the first: arrays and symbols use the kernel's maps.
struct SessionData {
    explicit SessionData(const plan::Plan& plan) : plan(plan) {}

    const plan::Plan& plan;
    ProcessNumbers numbers;
    std::unique_ptr<KernelObject> kernel;               // null: the script has no kernel handlers
    std::vector<uint64_t> own_memory;                   // the data area of such a script
    Symbols symbols;                                    // the code of the traced processes
    char* memory = nullptr;                             // the data area: SessionWords, then the scalars
    plan::SessionWords* words = nullptr;                // at its beginning
    std::vector<std::unique_ptr<HostArray>> arrays;     // by global; null for scalars
    HitReport hit_report;                               // times of handlers in this process
    std::map<uint32_t, uint64_t> missed;                // hits that links counted as missed, by Attachment::probe
    std::map<const plan::Probe*, HandlerErrors> errors; // of host handlers, and the first text of kernel handlers
    bool aborted = false;                               // abort(): no end handlers run, no globals are printed
    std::set<size_t> pictured; // globals that pictures show at the end, by index; they are not printed, too

    // A scalar's bytes in the data area.
    char* scalar(const plan::Global& global) const { return memory + global.offset; }
};

} // namespace sonde
