// The order of the analysis.
#include "frontend/passes/passes.h"
#include "frontend/sema/analyzer.h"
#include "frontend/sema/phases.h"

namespace sonde {

Analyzer::Analyzer(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                   const SemaOptions& options, Arena& arena, Diagnostics& diags)
    : files_(files), c_(library, env, options, arena, diags), names_(c_, notes_) {
    for (const ast::File* file : files_)
        names_.add_file(*file);
}

namespace {
// perf.[...].counter("name")
bool declares_counter(const ast::Probe& probe) {
    for (const ast::ProbePoint* point : probe.points)
        if (point->components[0].name == "perf" && point->components.back().name == "counter")
            return true;
    return false;
}
} // namespace

hir::Program* Analyzer::run() {
    program_ = c_.arena.make<hir::Program>();
    names_.apply_overrides(files_.empty() ? 0 : files_[0]->id);
    // Counters first: handlers name them.
    for (bool counters : {true, false})
        for (const ast::File* file : files_)
            for (const ast::Probe* probe : file->probes)
                if (declares_counter(*probe) == counters)
                    build_probe(*probe, file->id);
    build_pending_functions();
    // A library file brings its probes with it; they may bring in more files.
    while (std::optional<Names::LibraryProbe> next = names_.next_library_probe()) {
        build_probe(*next->probe, next->file);
        build_pending_functions();
    }
    drop_uncalled_functions();
    program_->counters = c_.env.counters;
    if (program_->handlers.empty() && notes_.never_handlers.empty() && !c_.diags.has_errors())
        c_.diags.report(DiagId::NoMatch, {}, "the script has no probe that can run");
    if (c_.diags.has_errors())
        return nullptr;
    // Beyond this point every name is resolved.
    infer_types(*program_, names_, notes_, c_);
    if (c_.diags.has_errors())
        return nullptr;
    // Beyond this point every expression has a type.
    compile_regexes(notes_, c_);
    check_foreach(*program_, notes_, c_);
    check_side_effects(*program_, notes_, c_);
    check_own_task(*program_, notes_.heads, c_.diags);
    analyze_usage(*program_, names_, notes_, c_);
    finish_histograms(notes_);
    order_functions(*program_, c_);
    if (c_.diags.has_errors())
        return nullptr;
    mark_own_texts(*program_);
    if (!c_.options.unoptimized)
        forward_texts(*program_);
    if (!c_.options.unoptimized)
        intern_texts(*program_, c_.arena, c_.options.max_string);
    names_.mark_settable_globals();
    bound_keys(*program_);
    plan_exclusion(*program_);
    return program_;
}

hir::Program* analyze(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                      const SemaOptions& options, Arena& arena, Diagnostics& diags) {
    return Analyzer(files, library, env, options, arena, diags).run();
}

std::vector<ResolvedPoint> resolve_listing(const std::vector<ast::ProbePoint*>& points, Library& library,
                                           ProbeEnvironment& env, Arena& arena, Diagnostics& diags) {
    std::vector<const ast::File*> no_files;
    SemaOptions options;
    Analyzer analyzer(no_files, library, env, options, arena, diags);
    std::vector<ResolvedPoint> out;
    for (Analyzer::Resolved& resolved : analyzer.resolve(points, 0))
        out.push_back(std::move(resolved.point));
    return out;
}

} // namespace sonde
