// What the kernel's code counts about handlers, for reports.
#pragma once

#include <cstdint>

namespace sonde::plan {

// Counts of hits whose handler did not do all of its work.
struct ProbeCounts {
    uint64_t skipped; // no frame was free
    uint64_t lost;    // the ring buffer had no room
    uint64_t waited;  // the lock was not free in time
    uint64_t errors;  // an error ended the handler
    uint64_t unsaved; // returns without values from the function's entry
    uint64_t nested;  // calls whose return the kernel did not follow, because too many calls were active
};
// Run times of handlers (Plan::timing).
struct ProbeTiming {
    uint64_t hits, total_ns, squares_low, squares_high /* the sum of ns * ns */, min_biased_ns /* ~min */, max_ns;
    uint64_t outcomes[4]; // by HitOutcome, for hits that were not skipped
};
// The outcome of a hit whose handler ran. Failed: an error ended the handler, whether or not output was lost.
enum HitOutcome : uint64_t { Handled = 0, OutputLost = 1, Failed = 2 };

// Events that happened at least once, to explain an empty result. The data area has Plan::marks_size() bytes for each
// kind of mark, from Plan::marks on: one byte for each row or probe, which becomes 1. Atomic operations are not needed,
// because no other value is ever written.
enum class Mark : uint8_t {
    Hit,     // by row: a handler began, or was skipped, or its condition was false
    Wanted,  // by row: the probe's condition was true
    Entered, // by row: a call was entered whose return is probed
    Outside, // by probe: hit by a process outside of the target
};
constexpr uint64_t mark_kinds = 4;

} // namespace sonde::plan
