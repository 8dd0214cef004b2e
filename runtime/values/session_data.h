// The data of one session: its globals, the results of its hits, and the symbols that turn addresses into text. The
// engine fills it; sinks read it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/process_numbers.h"
#include "runtime/symbols/symbolizer.h"
#include "runtime/symbols/symbols.h"
#include "runtime/values/hit_report.h"
#include "runtime/values/host_arrays.h"
#include "runtime/values/kept_records.h"
#include "runtime/values/probe_editor.h"

namespace sonde {

// The errors of one host handler.
struct HandlerErrors {
    uint64_t count = 0;
    std::string first; // message of the first error
};

// C++ destroys members in reverse order. `arrays` and `symbols` use maps of `kernel`, so they must come after it.
struct SessionData {
    explicit SessionData(const plan::Plan& plan) : plan(plan) {}

    const plan::Plan& plan;
    ProcessNumbers numbers;
    std::unique_ptr<KernelObject> kernel;               // null: the script has no kernel handlers
    std::vector<uint64_t> own_memory;                   // the data area if `kernel` is null
    Symbols symbols;                                    // the code of the traced processes
    std::unique_ptr<Symbolizer> kept_symbols;           // in a replay: the answers that the recording has kept
    char* memory = nullptr;                             // the data area: SessionWords, then the scalars
    plan::SessionWords* words = nullptr;                // the begin of `memory`
    std::vector<std::unique_ptr<HostArray>> arrays;     // by global; null for scalars
    KeptRecords* kept_records = nullptr;                // records that wait in the kernel for a dump; null: none do
    std::string last_dump;                              // the flight recorder's message about its last recording
    HitReport hit_report;                               // durations of host handlers
    std::map<uint32_t, uint64_t> missed;                // hits that the kernel counted as missed, by Attachment::probe
    std::map<const plan::Probe*, HandlerErrors> errors; // of host handlers; of kernel handlers only the first message
    uint64_t run = 0; // number of the handler's run whose records the sinks receive; each run has another one
    ProbeEditor* editor = nullptr;          // changes the session's probes; null: they are fixed
    std::deque<plan::Global> added_globals; // those of added probes; their arrays follow those of the plan
    bool aborted = false;                   // after abort(): no end handlers run, and no globals are printed
    std::set<size_t> pictured; // indexes of globals that pictures show; the end of the session does not print them
    int64_t began_ns = real_time_ns(); // in nanoseconds since 1970
    // Clocks (base/clock.h). In a replay, they show the times of the recording.
    std::function<int64_t()> now = now_ns, real_time = real_time_ns, kernel_time = kernel_now_ns;

    // The time on the clock of records (hir::Clock::Steady), in nanoseconds since 1970.
    int64_t record_time() const { return kernel_time() + (words ? words->realtime_offset_ns : 0); }

    bool is_replay() const { return kept_symbols != nullptr; }
    // What sinks ask for the names of addresses.
    Symbolizer& symbolizer() { return kept_symbols ? *kept_symbols : static_cast<Symbolizer&>(symbols); }
    // The globals of the plan, then the added ones. Their indexes are those of `arrays`.
    size_t global_count() const { return plan.globals.size() + added_globals.size(); }
    const plan::Global& global(size_t index) const {
        return index < plan.globals.size() ? plan.globals[index] : added_globals[index - plan.globals.size()];
    }
    // A scalar's bytes in the data area.
    char* scalar(const plan::Global& global) const { return memory + global.offset; }
};

} // namespace sonde
