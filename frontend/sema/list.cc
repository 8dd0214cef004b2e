// -l and -L: lists the points that a probe point stands for. Aliases are listed by their own names.
#include <map>
#include <set>

#include <fmt/format.h>

#include "frontend/sema/expand.h"

namespace sonde {
namespace {

// Returns the variables that the alias sets, such as " name:string argstr:string". To find them, this analyzes a script
// that consists of a probe of the alias with an empty body. Its handler's locals are the variables. Omits internal
// variables of the library, whose names begin with two underscores.
std::string alias_variables(const ast::ProbePoint& alias, const ResolvedPoint& point,
                            std::vector<const ast::File*> files, Library& library, ProbeEnvironment& env, Arena& arena,
                            Diagnostics& diags) {
    ast::Probe probe{{arena.make<ast::ProbePoint>(alias)}, arena.make<ast::BlockStmt>(alias.range), alias.range};
    ast::File file;
    file.id = alias.range.file;
    file.probes = {&probe};
    Translate options;
    options.unoptimized = true; // unused variables are the ones to list
    options.skip_bad_variables = true;
    Diagnostics::Suppress quiet(diags);
    files.push_back(&file);
    hir::Program* program = analyze(files, library, env, options, arena, diags);
    std::string out;
    if (!program || program->handlers.empty())
        return out;
    for (const hir::Local* local : program->handlers[0]->locals) {
        // Some aliases also serve a system call's entry, where the result is not known yet.
        bool later = point.syscall && !point.is_exit && (local->name == "retval" || local->name == "retstr");
        if (!later && !local->name.starts_with("__") && local->type != hir::ValueType::Unknown)
            out += fmt::format(" {}:{}", local->name, local->type == hir::ValueType::String ? "string" : "long");
    }
    return out;
}

} // namespace

std::vector<std::string> list_points(const std::vector<ast::ProbePoint*>& points, bool with_variables,
                                     const std::vector<const ast::File*>& extras, Library& library,
                                     ProbeEnvironment& env, Arena& arena, Diagnostics& diags) {
    std::vector<const ast::File*> files;
    for (const ast::File* extra : extras) {
        auto* aliases = arena.make<ast::File>(*extra);
        aliases->probes.clear();
        files.push_back(aliases);
    }
    Translate options;
    SemaContext context(library, env, options, arena, diags);
    SideTables tables;
    Names names(context, tables);
    for (const ast::File* file : files)
        names.add_file(*file);
    Expander expander(context, names);
    std::set<std::string> lines;
    std::map<std::string, std::string> variables; // by alias
    for (const Expander::Resolved& resolved : expander.resolve(points, 0)) {
        const Expansion& expansion = *resolved.expansion;
        if (!expansion.alias) {
            lines.insert(list_point(resolved.point, env));
            continue;
        }
        std::string line = expansion.pn;
        if (with_variables) {
            auto [known, fresh] = variables.try_emplace(line);
            if (fresh)
                known->second = alias_variables(*expansion.alias, resolved.point, files, library, env, arena, diags);
            line += known->second + list_variables(resolved.point);
        }
        lines.insert(line);
    }
    return {lines.begin(), lines.end()};
}

std::vector<ResolvedPoint> resolve_listing(const std::vector<ast::ProbePoint*>& points, Library& library,
                                           ProbeEnvironment& env, Arena& arena, Diagnostics& diags) {
    Translate options;
    SemaContext context(library, env, options, arena, diags);
    SideTables tables;
    Names names(context, tables);
    Expander expander(context, names);
    std::vector<ResolvedPoint> out;
    for (Expander::Resolved& resolved : expander.resolve(points, 0))
        out.push_back(std::move(resolved.point));
    return out;
}

} // namespace sonde
