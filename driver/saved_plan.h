// A plan as a file: `sonde -p4` writes it, `sonde FILE.sonde` runs it.
#pragma once

#include <string>

#include "base/result.h"
#include "driver/options.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Writes the plan to NAME.sonde (-m), and returns the path of this file.
Result<std::string> save_plan(const plan::Plan& plan);

// Loads the saved plan for this command line. Globals (-G), groups (--container and others) and label names (--label)
// replace those of the plan. Warns about an unknown global, and about a target that the handlers do not filter. Errors:
// the file is damaged, the kernel has other types, a target is missing, or groups or names do not fit.
Result<plan::Plan> load_saved_plan(const Options& options);

} // namespace sonde
