// --dump-when: a condition at the end of handlers, at which the flight recorder writes a recording.
#pragma once

#include "driver/options.h"
#include "driver/translation.h"
#include "frontend/hir/hir.h"

namespace sonde {

// Adds `if (EXPRESSION) dump("EXPRESSION")` to the end of each handler in which the expression has a meaning:
//
// * The handler's points have all of its target variables, such as `$return`.
// * Its other names are globals, or the handler mentions them.
// * If it has @entry, all points of the probe are returns.
//
// begin, end and error handlers have no such condition. The script's files must be parsed. Mistakes are in the
// diagnostics.
void add_dump_conditions(Translation& t, const Options& options);

// Reports each expression that no handler evaluates, because no probe point has its target variables.
void check_dump_conditions(const Translation& t, const Options& options, const hir::Program& program,
                           Diagnostics& diags);

} // namespace sonde
