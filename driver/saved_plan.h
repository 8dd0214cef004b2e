// A plan as a file: `sonde -p4` writes it, `sonde FILE.sonde` runs it.
#pragma once

#include <string>

#include "base/result.h"
#include "driver/options.h"
#include "driver/translation.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Whether the command line asks for a saved plan: its first word is FILE.sonde.
bool is_saved_plan(const Options& options);

// Writes the plan with what it was made from and what it was made for; gives the file's path. `origin`: what it was
// made from, with --relink; null: what the translation has read.
Result<std::string> save_plan(plan::Plan& plan, Translation& t, const Options& options, const plan::Origin* origin);

// Gives the globals that -G names their values. Warns of a name that the plan has not, or that nobody can set. Errors:
// a text for a number.
Result<void> set_globals(plan::Plan& plan, const Options& options);
// Limits the plan to the groups of the command line in place of its own (--container and the like).
void set_groups(plan::Plan& plan, const Options& options);

// Whether a saved plan can run here as the command line asks for: on a kernel with the types that its handlers know,
// and with a target if it was made for one. Says with a warning if it was made for all processes and runs with a
// target.
Result<void> check_saved_plan(const plan::Plan& plan, const Options& options);

} // namespace sonde
