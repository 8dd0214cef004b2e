// What -t says at the end of the output: a line for each probe point, host handlers' too.
//
// Handlers in the kernel are measured by themselves (plan::ProbeTiming, one for each row), those in this process here.
// Both are measured in nanoseconds, and told in the processor's cycles, as scripts that read such reports expect them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/load/load.h"
#include "runtime/plan/plan.h"

namespace sonde {

// What the kernel's side has measured at a row; zeros where nothing has.
plan::ProbeTiming timing_of(const KernelObject& kernel, uint32_t row);
// Of several rows together.
void add_timing(plan::ProbeTiming& sum, const plan::ProbeTiming& more);

class HitReport {
  public:
    HitReport(); // the processor's speed is measured from here on
    // A handler in this process ran that long. Each of its points runs it once in a round, in their order.
    void ran(const plan::Probe& probe, uint64_t ns);
    // Of all of a probe's runs in this process.
    plan::ProbeTiming timing_of(const plan::Probe& probe) const;
    // Null: there are no handlers in the kernel.
    std::string text(const plan::Plan& plan, const KernelObject* kernel) const;

  private:
    struct Runs {
        uint64_t count = 0;
        std::vector<plan::ProbeTiming> points;
    };
    double cycles_per_ns() const;
    std::map<const plan::Probe*, Runs> host_;
    uint64_t began_cycles_;
    int64_t began_ns_;
};

} // namespace sonde
