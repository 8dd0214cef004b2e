// The analysis: from syntax trees to HIR. It expands aliases, resolves probe points and names, infers types, checks the
// script, and merges equal bodies.
#pragma once

#include <string>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/ast/ast.h"
#include "frontend/hir/hir.h"
#include "frontend/probes/probe.h"
#include "frontend/tapset/library.h"
#include "options/translate.h"

namespace sonde {

// Analyzes the script's files (the main script first, then those of -E) together with the library files that they use.
// Reports errors to `diags`, and then returns null. The arena owns the result.
hir::Program* analyze(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                      const Translate& options, Arena& arena, Diagnostics& diags);

// -l, -L: returns one line for each matching point, sorted. An alias is listed by its own name; with `with_variables`,
// the variables that it sets precede those of its point. `extras` are the files of -E, which may define aliases.
std::vector<std::string> list_points(const std::vector<ast::ProbePoint*>& points, bool with_variables,
                                     const std::vector<const ast::File*>& extras, Library& library,
                                     ProbeEnvironment& env, Arena& arena, Diagnostics& diags);

// Resolves points and their aliases without building handlers.
std::vector<ResolvedPoint> resolve_listing(const std::vector<ast::ProbePoint*>& points, Library& library,
                                           ProbeEnvironment& env, Arena& arena, Diagnostics& diags);

} // namespace sonde
