// From syntax trees to HIR: alias expansion, probe resolution, names, types to a fixed point, checks, sharing of
// bodies.
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
    bool guru = false;               // -g
    bool unoptimized = false;        // -u: keep what is unused
    bool tells_hits = false;         // --timeline: a handler that does nothing tells that it was reached
    bool var_at_entry = false;       // --compatible up to 4.0: `@var` in .return is the value at the entry
    bool kernel_host_probes = false; // lower begin, end, error and timer handlers to BPF programs, run by test run (for
                                     // comparing both places)
    bool skip_bad_variables = false; // --skip-badvars: a `$variable` that cannot be had is 0
    uint64_t max_map_entries = 2048; // MAXMAPENTRIES
    uint64_t max_string = 512;       // MAXSTRINGLEN
    int64_t hist_elision = 2;        // HIST_ELISION
    uint64_t hist_width = 50;        // HIST_WIDTH
    uint64_t max_buckets = 128;      // STP_MAX_BUCKETS
    bool hist_unicode = false;       // --histogram=unicode
    // These statistics keep what percentiles are made of, though the script reads none; "": all of them.
    std::vector<std::string> keeps_quantiles;
    bool keeps_distributions = false; // --metrics: and so do all without a histogram, but in large arrays
    std::vector<std::pair<std::string, std::string>> global_overrides; // -G name=value
    bool settable_globals = false; // -p4: public scalars' initial values can be others when the plan runs
};

// The script's files (main script first, then -E extras) with whatever the library adds. Errors go to diags; null if
// there were any.
hir::Program* analyze(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                      const SemaOptions& options, Arena& arena, Diagnostics& diags);

// -l, -L: one line for each point that is found, sorted. An alias is listed by its own name, with the variables that it
// sets in front of those of the point that it leads to. The aliases of `extras` (-E) count too.
std::vector<std::string> list_points(const std::vector<ast::ProbePoint*>& points, bool with_variables,
                                     const std::vector<const ast::File*>& extras, Library& library,
                                     ProbeEnvironment& env, Arena& arena, Diagnostics& diags);

// Resolves points (with aliases) without a handler.
std::vector<ResolvedPoint> resolve_listing(const std::vector<ast::ProbePoint*>& points, Library& library,
                                           ProbeEnvironment& env, Arena& arena, Diagnostics& diags);

} // namespace sonde
