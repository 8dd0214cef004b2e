// Pass 5: a Plan's session, in this process or in the background.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "driver/options.h"
#include "runtime/plan/plan.h"

namespace sonde {

// What else is known of a plan that runs.
struct PlanRun {
    // Makes the same plan with code in another arrangement, 1 or more (--arrangement); empty: it cannot be made again.
    std::function<Result<plan::Plan>(uint32_t arrangement)> rearrange;
    // SessionHooks::inlined_copies
    std::function<uint64_t(const plan::Point&)> inlined_copies;
};

// Runs the plan to its session's end, or with -F until every probe is armed. Says what went wrong. Gives the exit
// status.
int run_plan(const plan::Plan& plan, const Options& options, const PlanRun& run);

} // namespace sonde
