// Expands aliases: from a probe point as written in the script to points of probe kinds, with prologues, epilogues and
// conditions.
//
// With `probe a = b {p}`, `probe a {body}` means `probe b {p body}`. If b is an alias, too, its prologue runs before p
// and its epilogue after that of a. Components that follow an alias's name are appended to each point that the alias
// stands for:
//
//     probe syscalls = process("x").function("read*"), process("x").function("write*") { calls++ }
//     probe syscalls.return { ... }       # process("x").function("read*").return, ... with the prologue
//
// Aliases can contain optional points (`?`), sufficient points (`!`), patterns and each other, so a point is resolved
// recursively; AliasUse holds the state on the way down. Two limits stop aliases that refer to themselves or that
// double each other.
#include <string.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "arch/architecture.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "frontend/ast/walk.h"
#include "frontend/hints/foreign_words.h"
#include "frontend/parse/parser.h"
#include "frontend/probes/kinds.h"
#include "frontend/sema/expand.h"

namespace sonde {

struct Expander::AliasUse {
    FileId file = 0; // the file that contains the point
    Expansion expansion;
    std::vector<std::string> chain; // the aliases on the way here, outermost first
    Range written;                  // the range of the probe's own point
    size_t first = 0;               // the first entry in expansions_ that belongs to this point
    bool* stopped = nullptr;        // set when a limit was reached: nothing more is expanded
    // Set if a kind knows the point but has no place for it (a system call that no program can make).
    bool* never_hit = nullptr;
};

namespace {

// The limit for aliases that double each other.
constexpr size_t max_alias_points = 10'000;

bool is_pattern(const ast::PointComponent& component) { return component.name.find('*') != std::string::npos; }

bool has_pattern(const ast::ProbePoint& point) {
    return std::any_of(point.components.begin(), point.components.end(), is_pattern);
}

bool same_argument(const ast::PointComponent& a, const ast::PointComponent& b) {
    return a.arg == b.arg && (a.arg != ast::PointComponent::Number || a.number == b.number) &&
           (a.arg != ast::PointComponent::String || a.text == b.text);
}

std::string dotted(const ast::ProbePoint& point) {
    std::string out;
    for (const ast::PointComponent& component : point.components)
        out += (out.empty() ? "" : ".") + component.name;
    return out;
}

// Returns how many components of `use` belong to the alias's name; 0 if the name does not match:
//
//     name            use                    result
//     syscall.open    syscall.open.return    2, and `.return` is a suffix
//     syscall.open    syscall.*              2
//     syscall.open    syscall                0
//     a.b.c           a.**                   2: all components of the use
//     syscall.open    syscall.open.ret**     2, and `.ret**` is a suffix
size_t match_alias(const ast::ProbePoint& name, const ast::ProbePoint& use) {
    // Patterns do not find internal aliases of the library.
    if (is_pattern(use.components[0]) && name.components[0].name.starts_with("__"))
        return 0;
    // `**` also matches periods, so it takes all components, unless it is in a suffix behind the name.
    const auto crosses = std::ranges::find_if(use.components, [](const ast::PointComponent& component) {
        return component.name.find("**") != std::string::npos;
    });
    if (crosses - use.components.begin() < std::ssize(name.components) && crosses != use.components.end())
        return glob_match(dotted(use), dotted(name)) ? use.components.size() : 0;
    if (name.components.size() > use.components.size())
        return 0;
    for (size_t i = 0; i < name.components.size(); i++) {
        const ast::PointComponent &wanted = name.components[i], &have = use.components[i];
        bool fits = is_pattern(have) ? glob_match(have.name, wanted.name) : have.name == wanted.name;
        if (!fits || !same_argument(wanted, have))
            return 0;
    }
    return name.components.size();
}

// Whether the alias is only another name for a point, as `syscall.pread64` is for `syscall.pread`. A pattern that
// matches both names must find the call only once.
bool is_second_name(const ast::Alias& alias, const ast::ProbePoint& name, const ast::ProbePoint& pattern) {
    if (!has_pattern(pattern) || alias.points.size() != 1)
        return false;
    const ast::ProbePoint& target = *alias.points[0];
    return target.components.size() == name.components.size() && target.components[0].name == name.components[0].name &&
           match_alias(target, pattern) > 0;
}

// Returns a point for the kernel function, tracepoint or system call with this name, or "".
std::string point_in_kernel(const std::string& name, ProbeEnvironment& env) {
    // The name of a system call, or of its tracepoint or function in the kernel.
    const std::string_view function = env.architecture->system_calls().function_prefix;
    for (std::string_view prefix : {std::string_view("sys_enter_"), std::string_view("sys_exit_"), function,
                                    std::string_view("sys_"), std::string_view()})
        if (name.starts_with(prefix) && is_syscall(name.substr(prefix.size()), *env.architecture))
            return fmt::format("syscall.{}{}", name.substr(prefix.size()), prefix == "sys_exit_" ? ".return" : "");
    Result<KernelTypes*> kernel = env.kernel();
    if (!kernel)
        return "";
    const std::string module; // the kernel itself
    for (const KernelFunction& one : (*kernel)->tracepoints(name))
        if (one.name == name || one.name.ends_with(":" + name))
            return fmt::format("kernel.trace(\"{}\")", name);
    return (*kernel)->functions(name, &module).empty() ? "" : fmt::format("kernel.function(\"{}\")", name);
}

ast::ProbePoint without_marks(ast::ProbePoint point) {
    point.optional = point.sufficient = false;
    point.condition = nullptr;
    return point;
}

} // namespace

// Returns advice on how to search for points that contain the word, or "". In a pattern, the word is the text without
// its stars.
static std::string search_advice(std::string word) {
    const bool patterned = word.find('*') != std::string::npos;
    std::erase(word, '*');
    const bool is_word = std::ranges::all_of(word, [](unsigned char c) { return isalnum(c) || c == '_'; });
    if (word.empty() || !is_word)
        return "";
    return patterned ? fmt::format(", `sonde -l '*{}*'` searches for the word", word)
                     : fmt::format(", `sonde {}` searches for the word", word);
}

void Expander::report_unknown_point(const ast::ProbePoint& point) {
    const ast::PointComponent& first = point.components[0];
    std::vector<std::string> names = probe_kind_names();
    std::vector<std::string> library = c_.library.alias_names();
    names.insert(names.end(), library.begin(), library.end());
    bool prefix_known = false;
    for (const auto& [alias, file] : names_.aliases())
        for (const ast::ProbePoint* name : alias->names) {
            names.push_back(name->components[0].name);
            prefix_known = prefix_known || name->components[0].name == first.name;
        }
    if (prefix_known) {
        // The first component is correct, so a later one is wrong.
        std::string written = dotted(point);
        std::vector<std::string> whole;
        for (const auto& [alias, file] : names_.aliases())
            for (const ast::ProbePoint* name : alias->names)
                whole.push_back(dotted(*name));
        c_.report_once(DiagId::UnknownProbePoint, point.range, fmt::format("unknown probe point `{}`", written))
            .suggest(nearest_name(written, whole));
        return;
    }
    DiagBuilder report = c_.report_once(DiagId::UnknownProbePoint, first.range,
                                        is_pattern(first) ? fmt::format("no probe point matches `{}`", dotted(point))
                                                          : fmt::format("unknown probe point `{}`", first.name));
    const bool is_word = point.components.size() == 1 && !is_pattern(first) && first.arg == ast::PointComponent::None;
    if (const std::string hint = hints::point_hint(first.name); !hint.empty())
        report.help(hint);
    else if (const std::string inside = is_word ? point_in_kernel(first.name, c_.env) : ""; !inside.empty())
        report.help(fmt::format("write `{}`", inside));
    else if (const std::string near = nearest_name(first.name, names); !near.empty())
        report.suggest(near);
    else
        report.help(fmt::format("`sonde -l '*'` lists the families of probe points{}", search_advice(first.name)));
}

// Resolves a point that is the name of an alias, completely or (with_suffix) with further components. Returns whether
// an alias was found. The alias's points are resolved recursively.
bool Expander::resolve_alias(const ast::ProbePoint& point, const AliasUse& use, bool with_suffix,
                             std::vector<Resolved>& out) {
    bool found = false;
    // If there are aliases `a` and `a.b`, then `a.b.c` is `a.b` with the suffix `c`, not `a` with `b.c`.
    size_t longest = 0;
    for (const auto& [alias, file] : names_.aliases())
        for (const ast::ProbePoint* name : alias->names)
            if (size_t taken = match_alias(*name, point); taken < point.components.size())
                longest = std::max(longest, taken);
    // Iterate by index: resolving a point can load library files, which append aliases. These are not considered here.
    size_t count = names_.aliases().size();
    for (size_t i = 0; i < count; i++) {
        auto [alias, alias_file] = names_.aliases()[i];
        for (const ast::ProbePoint* name : alias->names) {
            size_t taken = match_alias(*name, point);
            if (taken == 0 || taken != (with_suffix ? longest : point.components.size()))
                continue;
            if (c_.diags.sources().is_tapset(alias_file) && is_second_name(*alias, *name, point))
                continue;
            found = true;
            AliasUse inner = use;
            std::string title = dotted(*name);
            inner.chain.push_back(title);
            // An alias that contains itself would be expanded forever.
            if (std::find(use.chain.begin(), use.chain.end(), title) != use.chain.end()) {
                std::string loop;
                for (const std::string& step : inner.chain)
                    loop += (loop.empty() ? "" : " = ") + step;
                c_.report_once(DiagId::UnknownProbePoint, point.range,
                               fmt::format("probe alias `{}` stands for itself: {}", title, loop))
                    .note(name->range, "defined here");
                return true;
            }
            inner.file = alias_file;
            Expansion& expansion = inner.expansion;
            if (use.chain.empty()) {
                // pn() returns the alias that the pattern has found.
                auto* found_here = c_.arena.make<ast::ProbePoint>(without_marks(point));
                if (has_pattern(point)) {
                    found_here->components = name->components;
                    found_here->components.insert(found_here->components.end(),
                                                  point.components.begin() + static_cast<ptrdiff_t>(taken),
                                                  point.components.end());
                }
                expansion.alias = found_here;
                expansion.pn = ast::to_source(*found_here);
            } else if (expansion.alias && has_pattern(point)) {
                // The pattern was a suffix of an alias: `nd_syscall.clo*`.
                auto* found_here = c_.arena.make<ast::ProbePoint>(*expansion.alias);
                size_t before =
                    found_here->components.size() - std::min(found_here->components.size(), point.components.size());
                for (size_t i = 0; i < name->components.size() && before + i < found_here->components.size(); i++)
                    if (is_pattern(found_here->components[before + i]))
                        found_here->components[before + i] = name->components[i];
                expansion.alias = found_here;
                expansion.pn = ast::to_source(*found_here);
            }
            // This is the innermost alias so far: its prologue runs before those of the outer ones, and its epilogue
            // after theirs.
            if (alias->prologue)
                expansion.prologues.insert(expansion.prologues.begin(), {alias->prologue, alias_file});
            if (alias->epilogue)
                expansion.epilogues.push_back({alias->epilogue, alias_file});
            for (const ast::ProbePoint* target : alias->points) {
                ast::ProbePoint next = *target;
                next.components.insert(next.components.end(), point.components.begin() + static_cast<ptrdiff_t>(taken),
                                       point.components.end());
                next.optional = next.optional || next.sufficient || point.optional;
                size_t before = out.size();
                resolve_point_into(next, inner, out);
                if (target->sufficient && out.size() > before)
                    break;
            }
        }
    }
    return found;
}

void Expander::resolve_point_into(const ast::ProbePoint& point, const AliasUse& outer, std::vector<Resolved>& out) {
    bool too_many = expansions_.size() - outer.first >= max_alias_points;
    if (*outer.stopped)
        return;
    if (too_many || outer.chain.size() > max_nesting) {
        c_.report_once(DiagId::UnknownProbePoint, outer.written,
                       too_many ? fmt::format("these aliases expand to more than {} probe points", max_alias_points)
                                : fmt::format("these aliases are nested more than {} deep", max_nesting));
        *outer.stopped = true;
        return;
    }
    AliasUse use = outer;
    if (point.condition) {
        check_condition(*point.condition, use.file);
        use.expansion.conditions.push_back({point.condition, use.file});
    }
    const std::string& first = point.components[0].name;
    names_.pull_in_aliases(first);
    if (has_pattern(point)) {
        resolve_pattern(point, use, out);
        return;
    }
    // An alias whose whole name matches takes precedence.
    if (resolve_alias(point, use, false, out) || resolve_alias(point, use, true, out))
        return;
    if (is_probe_kind(first))
        resolve_kind(point, use, out);
    else if (!point.optional)
        report_unknown_point(point);
}

// Resolves a pattern, which can match aliases and points of probe kinds. All matches are resolved as optional points,
// so those that this system or the program does not have are dropped silently. If nothing remains, one of them is
// resolved again as a required point, for its error message.
void Expander::resolve_pattern(const ast::ProbePoint& pattern, const AliasUse& use, std::vector<Resolved>& out) {
    const size_t before = out.size();
    ast::ProbePoint any = pattern;
    any.optional = true;
    const bool is_alias = resolve_alias(any, use, false, out) || resolve_alias(any, use, true, out);
    std::vector<ast::ProbePoint> forms = match_forms(any);
    auto resolve_form = [&](const ast::ProbePoint& form) {
        AliasUse named = use;
        name_found(named.expansion, pattern, form);
        resolve_kind(form, named, out);
    };
    for (const ast::ProbePoint& form : forms)
        resolve_form(form);
    drop_redundant(out, before);
    if (out.size() > before || pattern.optional || *use.stopped)
        return;
    const bool is_open = is_pattern(pattern.components[0]); // the first component is a pattern, so it may mean anything
    if (is_alias && !is_open) {
        if (!resolve_alias(pattern, use, false, out))
            resolve_alias(pattern, use, true, out);
    } else if (!forms.empty()) {
        forms[0].optional = false;
        resolve_form(forms[0]);
    } else if (is_probe_kind(pattern.components[0].name)) {
        resolve_kind(pattern, use, out);
    } else {
        report_unknown_point(pattern);
    }
}

// Sets the result of pn() to the point that a pattern has found, also if an alias contains the pattern. With `probe
// tick = timer {}`, the point `tick.*(1)` finds `timer.s(1)`, and pn() returns `tick.s(1)`.
void Expander::name_found(Expansion& expansion, const ast::ProbePoint& pattern, const ast::ProbePoint& found) {
    if (!expansion.alias) {
        expansion.pn = ast::to_source(without_marks(found));
        return;
    }
    auto same_name = [](const ast::PointComponent& a, const ast::PointComponent& b) { return a.name == b.name; };
    const auto first = std::find_if(pattern.components.begin(), pattern.components.end(), is_pattern);
    const auto before = first - pattern.components.begin(), tail = pattern.components.end() - first;
    ast::ProbePoint named = *expansion.alias;
    if (std::ssize(named.components) < tail ||
        !std::equal(first, pattern.components.end(), named.components.end() - tail, same_name))
        return; // the pattern is part of the alias's own definition
    named.components.erase(named.components.end() - tail, named.components.end());
    named.components.insert(named.components.end(), found.components.begin() + before, found.components.end());
    expansion.alias = c_.arena.make<ast::ProbePoint>(named);
    expansion.pn = ast::to_source(named);
}

void Expander::drop_redundant(std::vector<Resolved>& out, size_t first) {
    std::vector<const ResolvedPoint*> found;
    for (size_t i = first; i < out.size(); i++)
        found.push_back(&out[i].point);
    std::vector<size_t> redundant;
    for (size_t i = 0; i < found.size(); i++)
        if (is_redundant(*found[i], found))
            redundant.push_back(first + i);
    for (const size_t index : std::views::reverse(redundant))
        out.erase(out.begin() + static_cast<ptrdiff_t>(index));
}

void Expander::resolve_kind(const ast::ProbePoint& point, const AliasUse& use, std::vector<Resolved>& out) {
    expansions_.push_back(use.expansion);
    const Expansion* expansion = &expansions_.back();
    ast::ProbePoint bare = without_marks(point);
    bare.optional = point.optional;
    const size_t errors = c_.diags.error_count();
    std::vector<ResolvedPoint> found = resolve_point(bare, c_.env, c_.claims, c_.diags);
    if (found.empty() && !bare.optional && c_.diags.error_count() == errors)
        *use.never_hit = true;
    for (ResolvedPoint& resolved : found) {
        resolved.point.pn = expansion->pn;
        if (c_.env.on_point && resolved.listed.empty())
            c_.env.on_point(resolved);
        out.push_back({expansion, std::move(resolved)});
    }
}

// On some architectures, 64-bit programs lack old system calls, and 32-bit programs have them. A probe of `open` then
// misses most of what the user expects.
void Expander::warn_of_replaced_call(const ast::ProbePoint& written, std::span<const Resolved> found) {
    const Architecture& architecture = *c_.env.architecture;
    // A point can stand for a call and its successor, as `syscall.signalfd` does.
    const auto is_narrow = [](const Resolved& one) { return one.point.syscall && one.point.syscall->number < 0; };
    if (!std::ranges::all_of(found, is_narrow))
        return;
    for (const Resolved& one : found) {
        const Syscall* call = one.point.syscall;
        for (const auto& [name, now] : architecture.system_calls().replaced)
            if (name == call->name)
                c_.report_once(DiagId::LeftOut, written.range,
                               fmt::format("only 32-bit programs can make the system call `{}` on {}; 64-bit programs "
                                           "make `{}` instead",
                                           name, architecture.name(), now))
                    .help(fmt::format("probe `syscall.{}`; a `?` after this point hides the warning", now));
    }
}

std::vector<Expander::Resolved> Expander::resolve(const std::vector<ast::ProbePoint*>& points, FileId file) {
    std::vector<Resolved> out;
    for (const ast::ProbePoint* written : points) {
        bool stopped = false, never_hit = false;
        AliasUse use;
        use.stopped = &stopped;
        use.never_hit = &never_hit;
        use.file = file;
        use.written = written->range;
        use.expansion.pn = ast::to_source(without_marks(*written));
        ast::ProbePoint point = *written;
        // A sufficient point (`!`) is also optional.
        point.optional = point.optional || point.sufficient;
        size_t before = out.size();
        use.first = expansions_.size();
        const size_t errors = c_.diags.error_count();
        resolve_point_into(point, use, out);
        if (!point.optional && !has_pattern(*written))
            warn_of_replaced_call(*written, std::span(out).subspan(before));
        // An alias may consist of optional points only. Then nobody has reported that none of them exists.
        if (out.size() == before && !point.optional && !stopped && !never_hit && c_.diags.error_count() == errors)
            c_.report_once(DiagId::NoMatch, written->range,
                           fmt::format("none of the probe points of `{}` exists", use.expansion.pn))
                .help("add a `?` to make the probe point optional");
        if (written->sufficient && out.size() > before)
            break;
    }
    return out;
}

// Checks the condition of `probe p if (c)`. It may only read globals and must not change anything, because sonde may
// evaluate it at any time.
void Expander::check_condition(const ast::Expr& condition, FileId file) {
    for_each_expr(condition, [&](const ast::Expr& expr) {
        using ast::ExprKind;
        switch (expr.kind) {
        case ExprKind::Name: {
            const std::string& name = ast::as<ast::NameExpr>(expr).name;
            if (!names_.find_global(name, file))
                c_.report_once(DiagId::WrongContext, expr.range,
                               fmt::format("a probe's condition can read only globals, and `{}` is not a global", name))
                    .suggest(nearest_name(name, names_.global_names()));
            break;
        }
        case ExprKind::Assign:
        case ExprKind::IncDec:
            c_.report_once(DiagId::WrongContext, expr.range, "a probe's condition must not change anything");
            break;
        case ExprKind::Call:
        case ExprKind::Print:
            c_.report_once(DiagId::WrongContext, expr.range, "a probe's condition must not call functions")
                .help("use `if (...) next` in the handler");
            break;
        case ExprKind::Target:
        case ExprKind::AddressOf:
        case ExprKind::Entry:
        case ExprKind::Member:
            c_.report_once(DiagId::WrongContext, expr.range,
                           fmt::format("a probe's condition can read only globals, not `{}`", ast::to_source(expr)))
                .help("use `if (...) next` in the handler");
            break;
        default:
            break;
        }
    });
}

} // namespace sonde
