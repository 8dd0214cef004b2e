// The analysis of a script that is a part of an interactive session (driver/repl): its globals belong to the session.
#pragma once

#include <vector>

#include "frontend/sema/sema.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

// As analyze(). `shared` are the globals of earlier parts; the script must declare those that it uses. Their types are
// given, and so are the data that statistics keep; the script is wrong if it needs anything else. New globals get a
// form that suits later parts.
hir::Program* analyze_part(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                           const Translate& options, Arena& arena, Diagnostics& diags,
                           const plan::SharedGlobals& shared);

} // namespace sonde
