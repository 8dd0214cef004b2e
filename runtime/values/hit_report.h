// The report of option -t at the end of the output: one line for each probe point, including those of host handlers.
//
// Handlers in the kernel measure themselves (plan::ProbeTiming, one for each row). This class measures host handlers.
// All times are in nanoseconds. The report shows cycles of the processor, because scripts that parse SystemTap's report
// expect cycles.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/load/load.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Returns the kernel's measurements of a row; all zeros if the row was never hit.
plan::ProbeTiming timing_of(const KernelObject& kernel, uint32_t row);
// Adds the measurements of a row to a sum.
void add_timing(plan::ProbeTiming& sum, const plan::ProbeTiming& more);

// The measurements of a session's host handlers.
class HitReport {
  public:
    HitReport(); // the measurement of the processor's speed begins here
    // Records a run of a host handler, in nanoseconds. The runs of a probe with several points are assigned to the
    // points in turn.
    void ran(const plan::Probe& probe, uint64_t ns);
    // Returns the sum over all points of a probe, for runs in this process only.
    plan::ProbeTiming timing_of(const plan::Probe& probe) const;
    // Returns the report. `kernel` is null if the script has no kernel handlers.
    std::string text(const plan::Plan& plan, const KernelObject* kernel) const;

  private:
    struct Runs {
        uint64_t count = 0;
        std::vector<plan::ProbeTiming> points;
    };
    // The speed of the processor's cycle counter, measured since the object was created.
    double cycles_per_ns() const;
    std::map<const plan::Probe*, Runs> host_;
    uint64_t began_cycles_;
    int64_t began_ns_;
};

} // namespace sonde
