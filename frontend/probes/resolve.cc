// Selects the kind for a probe point, and implements the messages that all kinds share.
//
// The table of kinds comes from probe_kinds.def. Nothing else in sema or codegen compares the names of points: a new
// kind is a row there and a resolver. A resolver gets the whole point, reports its own errors, and returns the places.
// It must accept any components, because users write anything after the first dot.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.h"
#include "frontend/hints/foreign_words.h"
#include "frontend/probes/kinds.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// A row of probe_kinds.def. The first two components of a point select the kind: `process("a").function("f")` is of the
// kind {process, function}.
struct Kind {
    const char* first;
    const char* second; // empty: any component
    std::vector<ResolvedPoint> (*resolve)(Resolving&);
    const VariableSource* variables;
    const char* declares = ""; // the last component of points that declare a name

    // Whether a script over a recording can have such points.
    bool suits_recording() const {
        return resolve == resolve_begin || resolve == resolve_timer || resolve == resolve_record;
    }
};

const Kind kinds[] = {
#define PROBE_KIND(first, second, function, variables, forms, ...)                                                     \
    {#first, #second, function, &(variables)__VA_OPT__(, ) __VA_ARGS__},
#include "frontend/probes/probe_kinds.def"
#undef PROBE_KIND
};

// Resolves the point, and sets where its `$variables` come from if the kind has not done so for a single point.
std::vector<ResolvedPoint> points_of(const Kind& kind, Resolving& resolving) {
    std::vector<ResolvedPoint> points = kind.resolve(resolving);
    for (ResolvedPoint& point : points) {
        point.machine = resolving.env.architecture;
        if (!point.variables)
            point.variables = kind.variables;
    }
    return points;
}

// Reports a probe of the running system in a script over a recording.
void report_live(Resolving& resolving) {
    resolving.diags
        .report(
            DiagId::WrongContext, resolving.components()[0].range,
            fmt::format("a script over a recording cannot probe the running system: `{}`", point_text(resolving.point)))
        .help("write record(\"NAME\") for a point of the recording; -l 'record(\"*\")' lists these. begin, end, error "
              "and "
              "timers run, too");
}

// Timers of samples run in the kernel.
std::vector<ResolvedPoint> without_live(std::vector<ResolvedPoint> points, Resolving& resolving) {
    if (resolving.env.recording && std::ranges::any_of(points, &ResolvedPoint::in_kernel)) {
        report_live(resolving);
        return {};
    }
    return points;
}

// An unknown second component is an error of the family, an unknown first one is an unknown point.
std::vector<ResolvedPoint> dispatch(Resolving& resolving) {
    const ast::PointComponent& first = resolving.components()[0];
    const ast::PointComponent* second = resolving.at(1);
    std::vector<std::string> seconds;
    for (const Kind& kind : kinds) {
        if (first.name != kind.first)
            continue;
        if (resolving.env.recording && !kind.suits_recording()) {
            report_live(resolving);
            return {};
        }
        if (!*kind.second || (second && second->name == kind.second))
            return without_live(points_of(kind, resolving), resolving);
        seconds.emplace_back(kind.second);
    }
    if (!seconds.empty()) {
        report_component(resolving, 1, seconds, {"mark"});
        return {};
    }
    resolving.diags.report(DiagId::UnknownProbePoint, first.range, fmt::format("unknown probe point `{}`", first.name))
        .suggest(nearest_name(first.name, probe_kind_names()));
    return {};
}

} // namespace

bool declares_counter(const ast::ProbePoint* point) {
    return std::ranges::any_of(kinds, [&](const Kind& kind) {
        return point->components[0].name == kind.first && point->components.back().name == kind.declares;
    });
}

std::vector<ResolvedPoint> resolve_point(const ast::ProbePoint& point, ProbeEnvironment& env, PointClaims& claims,
                                         Diagnostics& diags) {
    if (point.components.empty())
        return {};
    Resolving resolving{point, env, diags};
    const auto resolve = [&] {
        std::vector<ResolvedPoint> found = dispatch(resolving);
        if (!claims.take(found, point, env.listing, diags))
            found.clear();
        return found;
    };
    if (!point.optional)
        return resolve();
    bool lacks_some = false;
    std::vector<ResolvedPoint> points;
    {
        // An optional point (`?`) may be missing, so its errors are not reported.
        Diagnostics::Suppress quiet(diags);
        points = resolve();
        if (quiet.errors() != 0)
            return {};
        lacks_some = std::ranges::any_of(quiet.reports(), [](const auto& one) { return one.first == DiagId::LeftOut; });
    }
    // But if the point exists, the user expects all its hits. So resolve it again to report the places that are left
    // out.
    return lacks_some ? dispatch(resolving) : points;
}

namespace {

// SystemTap has no timers below 100 us, so `timer.*(1)` does not mean them. Scripts can use them by name.
bool is_fine_timer(const ResolvedPoint& point) {
    constexpr uint64_t finest_of_patterns_ns = 100'000;
    return point.kind == plan::ProbeKind::Timer && point.timer.interval_ns < finest_of_patterns_ns;
}

bool is_same_call(const ResolvedPoint& one, const ResolvedPoint& other) {
    if (one.is_exit != other.is_exit)
        return false;
    const std::vector<plan::NarrowCall>&narrow = one.syscall->narrow_calls, &others = other.syscall->narrow_calls;
    if (narrow.empty())
        return one.syscall->number == other.syscall->number;
    return std::ranges::find(others, narrow[0].number, &plan::NarrowCall::number) != others.end();
}

} // namespace

// A system call that this kernel does not implement is found by its own name and as `ni_syscall`.
bool is_redundant(const ResolvedPoint& point, const std::vector<const ResolvedPoint*>& found) {
    return is_fine_timer(point) ||
           (point.is_unimplemented && std::ranges::any_of(found, [&](const ResolvedPoint* other) {
                return other->syscall && !other->is_unimplemented && is_same_call(point, *other);
            }));
}

bool is_probe_kind(const std::string& first_component) {
    return std::any_of(std::begin(kinds), std::end(kinds),
                       [&](const Kind& kind) { return first_component == kind.first; });
}

std::vector<std::string> probe_kind_names() {
    std::vector<std::string> names;
    for (const Kind& kind : kinds)
        if (names.empty() || names.back() != kind.first)
            names.emplace_back(kind.first);
    return names;
}

// ---- for the kinds --------------------------------------------------------------------------------------------------

std::string point_text(const ast::ProbePoint& point, size_t end) {
    ast::ProbePoint plain;
    plain.components.assign(point.components.begin(),
                            point.components.begin() + static_cast<ptrdiff_t>(std::min(end, point.components.size())));
    return ast::to_source(plain);
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + '"';
}

void report_component(Resolving& resolving, size_t index, const std::vector<std::string>& allowed,
                      const std::vector<std::string>& later) {
    // The library's internal names for points, which begin with underscores, are printed without them.
    std::string before = point_text(resolving.point, index);
    before.erase(0, std::min(before.find_first_not_of('_'), before.size()));
    std::string choices;
    if (!allowed.empty())
        choices = fmt::format("`{}` can be followed by `.{}`", before, fmt::join(allowed, "`, `."));
    const ast::PointComponent* wrong = resolving.at(index);
    if (!wrong) {
        DiagBuilder report = resolving.diags.report(DiagId::UnknownProbePoint, resolving.components()[index - 1].range,
                                                    fmt::format("`{}` is not a whole probe point", before));
        if (!choices.empty())
            report.help(choices);
        return;
    }
    if (std::find(later.begin(), later.end(), wrong->name) != later.end()) {
        DiagBuilder report = resolving.diags.report(
            DiagId::Unsupported, wrong->range, fmt::format("`.{}` after `{}` is not supported", wrong->name, before));
        if (!choices.empty())
            report.help(choices);
        return;
    }
    DiagBuilder report =
        resolving.diags.report(DiagId::UnknownProbePoint, wrong->range,
                               allowed.empty() ? fmt::format("nothing can follow `{}`", before)
                                               : fmt::format("unknown `.{}` after `{}`", wrong->name, before));
    std::string nearest = nearest_name(wrong->name, allowed);
    if (nearest.empty())
        nearest = hints::component_hint(wrong->name, allowed);
    report.suggest(nearest);
    if (nearest.empty() && (wrong->name == "entry" || wrong->name == "enter"))
        report.help(fmt::format("`{}` is hit at the entry", before));
    if (nearest.empty() && !choices.empty())
        report.help(choices);
}

bool expect_argument(Resolving& resolving, const ast::PointComponent& component, ast::PointComponent::Arg wanted) {
    if (component.arg == wanted)
        return true;
    const char* what = wanted == ast::PointComponent::None     ? "takes no argument"
                       : wanted == ast::PointComponent::Number ? "needs a number"
                                                               : "needs a string";
    const char* form = wanted == ast::PointComponent::None     ? ""
                       : wanted == ast::PointComponent::Number ? "(N)"
                                                               : "(\"...\")";
    const std::string hint = component.arg == ast::PointComponent::Number && wanted == ast::PointComponent::None
                                 ? hints::argument_hint(component.name)
                                 : "";
    resolving.diags
        .report(DiagId::UnknownProbePoint,
                component.arg == ast::PointComponent::None ? component.range : component.arg_range,
                fmt::format("`{}` {}", component.name, what))
        .help(hint.empty() ? fmt::format("write `{}{}`", component.name, form) : hint);
    return false;
}

bool read_active(Resolving& resolving, size_t index, std::string& text) {
    const ast::PointComponent* active = resolving.at(index);
    if (!active || active->name != "maxactive")
        return expect_end(resolving, index, {"maxactive"});
    if (!expect_argument(resolving, *active, ast::PointComponent::Number) || !expect_end(resolving, index + 1))
        return false;
    constexpr int64_t most = 65535;
    if (active->number < 0 || active->number > most) {
        resolving.diags.report(DiagId::UnknownProbePoint, active->arg_range,
                               fmt::format("`maxactive` takes a number from 0 to {}, got {}", most, active->number));
        return false;
    }
    text = fmt::format(".maxactive({})", active->number);
    return true;
}

bool expect_end(Resolving& resolving, size_t index, const std::vector<std::string>& allowed) {
    if (!resolving.at(index))
        return true;
    report_component(resolving, index, allowed);
    return false;
}

} // namespace sonde
