// Resolves record("NAME") and record("NAME").return: the points of a recording, for `sonde replay FILE -e SCRIPT`.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/probes/kinds.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

using ast::PointComponent;
using plan::RecordedPoint;

std::string as_written(const std::string& name, bool is_return) {
    return fmt::format("record({}){}", quoted(name), is_return ? ".return" : "");
}

// Returns the point as a script can name it. If several points have the same name, that is pp().
std::string written(const RecordedPoint& point) {
    return point.has_twin ? as_written(point.pp, false) : as_written(point.name, point.is_return);
}

// A pattern with a parenthesis is one for pp(), other patterns are for names.
bool matches(const RecordedPoint& point, const std::string& pattern, bool is_return, bool any) {
    if (pattern.find('(') != std::string::npos && glob_match(pattern, point.pp))
        return true;
    return glob_match(pattern, point.name) && (point.is_return == is_return || any);
}

void report_missing(Resolving& resolving, const PointComponent& name, bool is_return) {
    const plan::RecordedPoints& recording = *resolving.env.recording;
    DiagBuilder report = resolving.diags.report(DiagId::NoMatch, name.arg_range,
                                                fmt::format("the recording `{}` has no point `{}`{}", recording.file,
                                                            name.text, is_return ? " for returns" : ""));
    if (recording.points.empty()) {
        report.help("it has no point at all: its script has no probe");
        return;
    }
    std::vector<std::string> names, all;
    bool has_other_end = false;
    for (const RecordedPoint& point : recording.points) {
        names.push_back(point.name);
        all.push_back(written(point));
        has_other_end = has_other_end || (glob_match(name.text, point.name) && point.is_return != is_return);
    }
    if (has_other_end)
        report.help(is_return ? fmt::format("`{}` was probed at its entry: leave out `.return`", name.text)
                              : fmt::format("`{0}` was probed at its return: write `record({1}).return`", name.text,
                                            quoted(name.text)));
    else
        report.suggest(nearest_name(name.text, names));
    constexpr size_t most = 20;
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    const size_t shown = std::min(most, all.size());
    report.help(fmt::format(
        "it has {}{}", fmt::join(all.begin(), all.begin() + static_cast<ptrdiff_t>(shown), ", "),
        shown < all.size() ? fmt::format(" and {} more; -l 'record(\"*\")' lists all", all.size() - shown) : ""));
}

} // namespace

std::vector<ResolvedPoint> resolve_record(Resolving& resolving) {
    const PointComponent& name = resolving.components()[0];
    const plan::RecordedPoints* recording = resolving.env.recording;
    if (!recording) {
        resolving.diags
            .report(DiagId::WrongContext, name.range,
                    "`record` stands for the points of a recording, and this script is for the running system")
            .help("`sonde replay FILE -e SCRIPT` runs a script over a recording");
        return {};
    }
    const bool is_return = resolving.at(1) && resolving.at(1)->name == "return";
    if (!expect_argument(resolving, name, PointComponent::String))
        return {};
    if (resolving.at(1) && !is_return) {
        report_component(resolving, 1, {"return"});
        return {};
    }
    if (is_return && (!expect_argument(resolving, *resolving.at(1), PointComponent::None) || !expect_end(resolving, 2)))
        return {};
    std::vector<const RecordedPoint*> found;
    for (const RecordedPoint& point : recording->points)
        if (matches(point, name.text, is_return, resolving.env.listing && !is_return))
            found.push_back(&point);
    // A pattern is for points with events, if there is any. A script can have probed a hundred thousand functions.
    if (!resolving.env.listing && has_wildcard(name.text) &&
        std::ranges::any_of(found, [](const RecordedPoint* point) { return point->events > 0; }))
        std::erase_if(found, [](const RecordedPoint* point) { return point->events == 0; });
    std::vector<ResolvedPoint> points;
    for (const RecordedPoint* one : found) {
        const RecordedPoint& point = *one;
        ResolvedPoint resolved;
        resolved.kind = plan::ProbeKind::Record;
        resolved.recorded = &point;
        resolved.point.pp = point.pp;
        resolved.point.function = point.function;
        resolved.variables = &record_source;
        if (resolving.env.listing)
            resolved.listed = written(point) + (resolving.env.listing_variables ? record_source.list(resolved) : "");
        points.push_back(std::move(resolved));
    }
    if (points.empty())
        report_missing(resolving, name, is_return);
    return points;
}

} // namespace sonde
