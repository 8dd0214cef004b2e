// Runs the phases of the analysis in order.
//
// 1. Building. Names looks up functions, globals and library files. Expander turns the probe points of the script into
//    points of probe kinds. Handlers and Functions create the handlers and the functions that they call; the build_*
//    functions create the HIR of their bodies. HIR has no types yet. SideTables keeps facts from building that later
//    phases need.
// 2. Phases over the whole program (phases.h): types, checks, and the use of globals.
// 3. Passes from HIR to HIR (frontend/passes).
//
// The order matters: each phase says in phases.h what it requires.
#include <algorithm>

#include "frontend/passes/part.h"
#include "frontend/passes/passes.h"
#include "frontend/sema/expand.h"
#include "frontend/sema/functions.h"
#include "frontend/sema/handlers.h"
#include "frontend/sema/names.h"
#include "frontend/sema/part.h"
#include "frontend/sema/phases.h"
#include "frontend/sema/shared_globals.h"

namespace sonde {

namespace {

// `shared`: null if the script is a whole.
hir::Program* analyze(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                      const Translate& options, Arena& arena, Diagnostics& diags, const plan::SharedGlobals* shared) {
    SemaContext context(library, env, options, arena, diags);
    SideTables tables;
    Names names(context, tables);
    for (const ast::File* file : files)
        names.add_file(*file);
    if (shared)
        adopt_shared_globals(names, *shared, tables);
    names.apply_overrides(files.empty() ? 0 : files[0]->id);

    hir::Program& program = *arena.make<hir::Program>();
    Expander expander(context, names);
    PointUseFinder point_uses(names);
    Functions functions(program, context, names, tables, point_uses);
    Handlers handlers(functions.building(), expander);

    // Build the counters first, because other handlers refer to them by name.
    for (bool counters : {true, false})
        for (const ast::File* file : files)
            for (const ast::Probe* probe : file->probes)
                if (std::ranges::any_of(probe->points, declares_counter) == counters)
                    handlers.build_probe(*probe, file->id);
    functions.build_pending();
    // A library file may contain probes, and building them may load more files.
    while (std::optional<Names::LibraryProbe> next = names.next_library_probe()) {
        handlers.build_probe(*next->probe, next->file);
        functions.build_pending();
    }
    tables.call_texts.finish(program, arena);
    functions.drop_uncalled();
    program.counters = context.claims.counters();
    program.pythons = context.env.python_layouts;
    if (program.handlers.empty() && tables.never_handlers.empty() && !diags.has_errors())
        diags.report(DiagId::NoMatch, {}, "the script has no probe that can run");
    if (diags.has_errors())
        return nullptr;

    // From here on, all names are resolved.
    infer_types(program, names, tables, context);
    if (diags.has_errors())
        return nullptr;

    // From here on, all expressions have types.
    place_c_code(program, names, tables, context);
    compile_regexes(tables, context);
    check_foreach(program, tables, context);
    check_recorded(program, context);
    check_side_effects(program, tables, context);
    check_own_task(program, tables.heads, diags);
    analyze_usage(program, names, tables, context);
    if (shared)
        settle_shared_globals(program, *shared, context);
    finish_histograms(tables);
    name_keys(program, context);
    order_functions(program, context);
    if (diags.has_errors())
        return nullptr;
    mark_own_texts(program);
    if (!options.unoptimized)
        forward_texts(program);
    find_key_roles(program);
    if (shared)
        refuse_shared_stacks(program, context);
    if (diags.has_errors())
        return nullptr;
    find_counters(program);
    if (!options.unoptimized && !shared)
        intern_texts(program, arena, options.max_string());
    names.mark_settable_globals();
    if (shared) {
        bound_keys_of_part(program);
        exclude_parts(program);
    } else {
        bound_keys(program);
        plan_exclusion(program);
    }
    return &program;
}

} // namespace

hir::Program* analyze(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                      const Translate& options, Arena& arena, Diagnostics& diags) {
    return analyze(files, library, env, options, arena, diags, nullptr);
}

hir::Program* analyze_part(const std::vector<const ast::File*>& files, Library& library, ProbeEnvironment& env,
                           const Translate& options, Arena& arena, Diagnostics& diags,
                           const plan::SharedGlobals& shared) {
    return analyze(files, library, env, options, arena, diags, &shared);
}

} // namespace sonde
