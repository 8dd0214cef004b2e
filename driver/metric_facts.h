// What --metrics wants to know of a script's globals and only the script tells: which of them are counters, and what
// the components of an array's key are called.
#pragma once

#include "base/result.h"
#include "base/source.h"
#include "driver/options.h"
#include "frontend/hir/hir.h"
#include "runtime/plan/plan.h"

namespace sonde {

// Fills in Global::only_grows and Global::labels, the latter from comments: `global reads # labels: task, file`. They
// are no part of what handlers are made of, so a kept plan (plan_cache.h) gets them anew. Warns of a comment whose
// names are not as many as the key has components.
void note_metric_facts(plan::Plan& plan, const hir::Program& program, const Sources& sources);

// --label, which goes before comments. Errors: no such array; too few or too many names.
Result<void> set_labels(plan::Plan& plan, const Options& options);

// `ARRAY=NAME,NAME`: what it says goes into `options`. The message, or nothing.
std::string add_label(Options& options, const std::string& text);

} // namespace sonde
