// The analysis: from syntax trees to HIR. It expands aliases, resolves probe points and names, infers types, checks the
// script, and merges equal bodies.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/ast/ast.h"
#include "frontend/hir/hir.h"
#include "frontend/probes/probe.h"
#include "frontend/tapset/library.h"

namespace sonde {

struct SemaOptions {
    bool guru = false;         // -g
    bool unoptimized = false;  // -u: keep unused code
    bool tells_hits = false;   // --timeline: a handler that does nothing still reports that it was hit
    bool var_at_entry = false; // --compatible before 4.1: `@var` in .return is the value at the entry
    // Compile begin, end, error and timer handlers to BPF programs, and run them by test run (to compare host and
    // kernel).
    bool kernel_host_probes = false;
    bool skip_bad_variables = false; // --skip-badvars: a `$variable` that does not exist is 0
    uint64_t max_map_entries = 2048; // MAXMAPENTRIES
    uint64_t max_string = 512;       // MAXSTRINGLEN
    int64_t hist_elision = 2;        // HIST_ELISION
    uint64_t hist_width = 50;        // HIST_WIDTH
    uint64_t max_buckets = 128;      // STP_MAX_BUCKETS
    bool hist_unicode = false;       // --histogram=unicode
    // Statistics that keep data for percentiles even if the script reads none; "": all.
    std::vector<std::string> keeps_quantiles;
    // --metrics: the same for all statistics without a histogram, except in large arrays
    bool keeps_distributions = false;
    std::vector<std::pair<std::string, std::string>> global_overrides; // -G name=value
    bool settable_globals = false; // -p4: the initial values of public scalars can be changed when the plan runs
};

// Analyzes the script's files (the main script first, then those of -E) together with the library files that they use.
// Reports errors to `diags`, and then returns null. The arena owns the result.
hir::Program* analyze(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                      const SemaOptions& options, Arena& arena, Diagnostics& diags);

// -l, -L: returns one line for each matching point, sorted. An alias is listed by its own name; with `with_variables`,
// the variables that it sets precede those of its point. `extras` are the files of -E, which may define aliases.
std::vector<std::string> list_points(const std::vector<ast::ProbePoint*>& points, bool with_variables,
                                     const std::vector<const ast::File*>& extras, Library& library,
                                     ProbeEnvironment& env, Arena& arena, Diagnostics& diags);

// Resolves points and their aliases without building handlers.
std::vector<ResolvedPoint> resolve_listing(const std::vector<ast::ProbePoint*>& points, Library& library,
                                           ProbeEnvironment& env, Arena& arena, Diagnostics& diags);

} // namespace sonde
