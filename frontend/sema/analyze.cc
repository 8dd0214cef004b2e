// The order of the analysis.
#include "frontend/passes/passes.h"
#include "frontend/sema/analyzer.h"

namespace sonde {

Analyzer::Analyzer(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                   const SemaOptions& options, Arena& arena, Diagnostics& diags)
    : files_(files), library_(library), env_(env), options_(options), arena_(arena), diags_(diags) {
    for (const ast::File* file : files_)
        add_file(*file);
}

DiagBuilder Analyzer::report_once(DiagId id, Range range, std::string message) {
    // A trial's reports are dropped, and must not silence the real one.
    if (trying_ == 0 && !reported_.emplace(id, range.file, range.begin, range.end).second)
        return DiagBuilder(nullptr);
    return diags_.report(id, range, std::move(message));
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
    program_ = arena_.make<hir::Program>();
    apply_overrides();
    // Counters first: handlers name them.
    for (bool counters : {true, false})
        for (const ast::File* file : files_)
            for (const ast::Probe* probe : file->probes)
                if (declares_counter(*probe) == counters)
                    build_probe(*probe, file->id);
    build_pending_functions();
    // A library file brings its probes with it; they may bring in more files.
    for (; !library_probes_.empty(); library_probes_.pop_front()) {
        build_probe(*library_probes_.front().first, library_probes_.front().second);
        build_pending_functions();
    }
    drop_uncalled_functions();
    program_->counters = env_.counters;
    if (program_->handlers.empty() && never_handlers_.empty() && !diags_.has_errors())
        diags_.report(DiagId::NoMatch, {}, "the script has no probe that can run");
    if (diags_.has_errors())
        return nullptr;
    // Beyond this point every name is resolved.
    infer();
    if (diags_.has_errors())
        return nullptr;
    // Beyond this point every expression has a type.
    compile_regexes();
    check_foreach();
    check_side_effects();
    check_own_task(*program_, heads_, diags_);
    analyze_usage();
    finish_histograms();
    order_functions();
    if (diags_.has_errors())
        return nullptr;
    mark_own_texts(*program_);
    if (!options_.unoptimized)
        forward_texts(*program_);
    if (!options_.unoptimized)
        intern_texts(*program_, arena_, options_.max_string);
    mark_settable_globals();
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
