// Pass 5: runs the session of a Plan, in this process or in the background.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "driver/options.h"
#include "runtime/engine/session_options.h"
#include "runtime/engine/shared_session.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/stack_copy.h"

namespace sonde {

// Facts about a plan that are known only if this process has translated it.
struct PlanRun {
    // Generates the same plan with another arrangement of its code, 1 or more (--arrangement). Empty for a saved plan.
    std::function<Result<plan::Plan>(uint32_t arrangement)> rearrange;
    UnhitFacts unhit;
    RecordedEvents* events = nullptr;            // the script is for these events
    const plan::StackCopy* stack_copy = nullptr; // the script is for this copy of a stack
    // Starts the process that adds probes (--editable). The result owns the process. Empty: the session's probes are
    // fixed.
    std::function<Result<std::shared_ptr<const SharedSession>>()> start_editor;
};

// Runs the plan until the end of its session, or with -F until every probe is armed. Prints errors. Returns the exit
// status.
int run_plan(const plan::Plan& plan, const Options& options, const PlanRun& run);

} // namespace sonde
