// Aliases: from the probe point as written to the points of probe kinds, with prologues, epilogues and conditions.
#include <algorithm>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/sema/analyzer.h"

namespace sonde {

namespace {

bool has_wildcard_component(const ast::ProbePoint& point) {
    return std::any_of(point.components.begin(), point.components.end(),
                       [](const ast::PointComponent& c) { return c.name.find('*') != std::string::npos; });
}

// How many components of `use` the alias name takes: all of the name's, matching by name; 0 if it does not match.
size_t match_alias(const ast::ProbePoint& name, const ast::ProbePoint& use) {
    if (name.components.size() > use.components.size())
        return 0;
    for (size_t i = 0; i < name.components.size(); i++) {
        const ast::PointComponent &wanted = name.components[i], &have = use.components[i];
        if (!glob_match(have.name, wanted.name))
            return 0;
        if (wanted.arg != have.arg || (wanted.arg == ast::PointComponent::Number && wanted.number != have.number) ||
            (wanted.arg == ast::PointComponent::String && wanted.text != have.text))
            return 0;
    }
    return name.components.size();
}

std::string first_name(const ast::ProbePoint& point) { return point.components[0].name; }

} // namespace

void Analyzer::expand_into(const ast::ProbePoint& point, FileId file, ExpandedPoint base,
                           std::vector<std::string>& chain, std::vector<ExpandedPoint>& out) {
    if (point.condition)
        base.conditions.push_back({point.condition, file});
    std::string first = first_name(point);
    // Pull in the library files that could define it.
    if (first.find('*') == std::string::npos) {
        for (const ast::File* library_file : library_.files_with_alias(first))
            add_file(*library_file);
    } else {
        for (const std::string& name : library_.alias_names())
            if (glob_match(first, name))
                for (const ast::File* library_file : library_.files_with_alias(name))
                    add_file(*library_file);
    }
    bool found = false;
    bool wildcard = has_wildcard_component(point);
    // add_file may be called while we look: iterate by index.
    for (size_t i = 0; i < aliases_.size(); i++) {
        auto [alias, alias_file] = aliases_[i];
        for (const ast::ProbePoint* name : alias->names) {
            size_t taken = match_alias(*name, point);
            if (taken == 0 || (wildcard && taken != point.components.size()))
                continue;
            found = true;
            std::string title = ast::to_source(*name);
            if (std::find(chain.begin(), chain.end(), title) != chain.end()) {
                std::string loop;
                for (const std::string& step : chain)
                    loop += step + " = ";
                diags_.report(DiagId::UnknownProbePoint, point.range,
                              fmt::format("probe alias `{}` is defined by itself: {}{}", title, loop, title));
                return;
            }
            chain.push_back(title);
            for (const ast::ProbePoint* target : alias->points) {
                ExpandedPoint inner = base;
                // Inner aliases' prologues run before outer ones', and their epilogues after.
                if (alias->prologue)
                    inner.prologues.insert(inner.prologues.begin(), {alias->prologue, alias_file});
                if (alias->epilogue)
                    inner.epilogues.push_back({alias->epilogue, alias_file});
                ast::ProbePoint next = *target;
                next.components.insert(next.components.end(), point.components.begin() + static_cast<ptrdiff_t>(taken),
                                       point.components.end());
                next.optional = next.optional || point.optional;
                next.sufficient = next.sufficient || point.sufficient;
                expand_into(next, alias_file, std::move(inner), chain, out);
            }
            chain.pop_back();
        }
    }
    if (found)
        return;
    if (!is_probe_kind(first)) {
        if (point.optional || point.sufficient)
            return;
        std::vector<std::string> names = probe_kind_names();
        std::vector<std::string> aliases = library_.alias_names();
        names.insert(names.end(), aliases.begin(), aliases.end());
        for (const auto& [alias, alias_file] : aliases_)
            for (const ast::ProbePoint* name : alias->names)
                names.push_back(name->components[0].name);
        diags_
            .report(DiagId::UnknownProbePoint, point.components[0].range,
                    fmt::format("unknown probe point `{}`", first))
            .suggest(nearest_name(first, names));
        return;
    }
    base.point = point;
    base.point.condition = nullptr;
    out.push_back(std::move(base));
}

std::vector<ExpandedPoint> Analyzer::expand(const ast::ProbePoint& point, FileId file) {
    std::vector<ExpandedPoint> out;
    std::vector<std::string> chain;
    ExpandedPoint base;
    base.written = &point;
    expand_into(point, file, std::move(base), chain, out);
    return out;
}

std::vector<Analyzer::Resolved> Analyzer::resolve(const std::vector<ast::ProbePoint*>& points, FileId file) {
    std::vector<Resolved> out;
    for (const ast::ProbePoint* written : points) {
        size_t before = out.size();
        for (ExpandedPoint& expanded : expand(*written, file)) {
            // `!` is optional too; resolve_point knows only `?`.
            ast::ProbePoint point = expanded.point;
            point.optional = point.optional || point.sufficient;
            std::vector<ResolvedPoint> resolved = resolve_point(point, env_, diags_);
            for (ResolvedPoint& one : resolved) {
                one.point.pn = ast::to_source(*written);
                out.push_back({expanded, std::move(one)});
            }
        }
        if (written->sufficient && out.size() > before)
            break;
    }
    return out;
}

} // namespace sonde
