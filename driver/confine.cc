#include "driver/confine.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/glob.h"
#include "base/path.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/effects.h"
#include "frontend/hir/walk.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

bool matches(const Patterns& patterns, const std::string& text) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) { return glob_match(pattern, text); });
}

std::string by(const Policy& policy) {
    return policy.origin.empty() ? "by default" : fmt::format("by the policy `{}`", policy.origin);
}

// ---- probe points

// The handler sees the processes of one program or library only.
bool is_in_program(plan::ProbeKind kind, const plan::Point& point) {
    return !point.program.empty() || (!point.path.empty() && !plan::is_file(kind) && !point.watch.is_kernel);
}

// A path below /proc/PID/root keeps its `..`, which a pattern must not match.
std::string compared_path(const std::string& path) {
    return std::filesystem::path(without_links(path)).lexically_normal().string();
}

bool permits_file(const Policy& policy, const std::string& path) {
    return !policy.programs || matches(*policy.programs, compared_path(path));
}

// Returns why the policy refuses the point; empty: it does not.
std::string why_no_point(const Policy& policy, plan::ProbeKind kind, const plan::Point& point) {
    const bool in_program = is_in_program(kind, point);
    if (!policy.kernel && !in_program)
        return fmt::format("`{}` sees all processes; `kernel` is false {}, so only programs can be probed", point.pp,
                           by(policy));
    // A library is seen only in the processes of the point's program.
    const bool is_permitted = (!point.path.empty() && permits_file(policy, point.path)) ||
                              (!point.program.empty() && permits_file(policy, point.program));
    if (in_program && !is_permitted)
        return fmt::format("`{}` is not one of the `programs` that are permitted {}: `{}`",
                           compared_path(point.path.empty() ? point.program : point.path), by(policy),
                           fmt::join(*policy.programs, "`, `"));
    if (policy.points && !matches(*policy.points, point.pp))
        return fmt::format("`{}` is not one of the `points` that are permitted {}: `{}`", point.pp, by(policy),
                           fmt::join(*policy.points, "`, `"));
    return "";
}

// Refuses each text once: a pattern can match thousands of points.
class Refusals {
  public:
    void add(Range range, const std::string& message) {
        if (!message.empty() && said_.insert(message).second)
            all_.push_back({range, message});
    }
    std::vector<Refusal> take() { return std::move(all_); }

  private:
    std::set<std::string> said_;
    std::vector<Refusal> all_;
};

void check_points(const hir::Handler& handler, const Policies& policies, Refusals& out) {
    if (plan::is_file(handler.kind))
        out.add(handler.range, "a confined script cannot create control files (`procfs`)");
    if (!plan::is_event(handler.kind)) // begin, end, timers
        return;
    for (const plan::Point& point : handler.points)
        out.add(handler.range, why_refused(handler.kind, point, policies));
}

// ---- operations

std::string why_no_operation(const hir::Expr& expr, bool reads_kernel) {
    if (expr.kind == hir::ExprKind::Store)
        return fmt::format("a confined script cannot write memory (`{}`)", hir::as<hir::Store>(expr).what);
    if (expr.kind == hir::ExprKind::Load && !hir::as<hir::Load>(expr).user && !reads_kernel)
        return "a read of the kernel's memory: `kernel` is false in the policy";
    if (expr.kind != hir::ExprKind::Intrinsic)
        return "";
    const auto& call = hir::as<hir::Intrinsic>(expr);
    if (hir::acts_outside(call.facts))
        return fmt::format("a confined script only watches: it cannot call `{}`", call.name);
    if (!reads_kernel && call.facts.trust == hir::Trust::Kernel && call.facts.of_kernel)
        return fmt::format("`{}` reads the kernel's memory: `kernel` is false in the policy", call.name);
    return "";
}

void check_operations(const hir::Program& program, const Policies& policies, Refusals& out) {
    const bool reads_kernel = std::ranges::all_of(policies, &Policy::kernel);
    const auto check = [&](const hir::Expr& expr) { out.add(expr.range, why_no_operation(expr, reads_kernel)); };
    for (const hir::Handler* handler : program.handlers)
        for_each_expr(*handler, check);
    for (const hir::Function* function : program.functions)
        for_each_expr(*function->body, check);
}

// C code can do anything, so only that of the built-in library may run.
void check_c_code(const hir::Program& program, const Sources& sources, Refusals& out) {
    const auto check = [&](const hir::CText& code) {
        if (code.range.valid() && !sources.is_tapset(code.range.file))
            out.add(code.range, "a confined script cannot contain C code");
    };
    for (const hir::CText& code : program.c_blocks)
        check(code);
    for (const hir::Function* function : program.functions)
        check(function->c_code);
}

void check_memory(const hir::Program& program, const Policies& policies, Refusals& out) {
    const uint64_t most = lowest(policies, &Policy::elements);
    for (const hir::Global* global : program.globals)
        if (global->is_array() && global->is_own && global->capacity > most)
            out.add(global->range, fmt::format("`{}` has {} elements; at most {} are permitted (`elements`)",
                                               global->name, global->capacity, most));
}

// ---- headers

void check_header(const std::string& name, Range range, Refusals& out) {
    const bool is_header = name.find('<') != std::string::npos;
    if (is_header && (name.find("</") != std::string::npos || name.find("..") != std::string::npos))
        out.add(range, fmt::format("a confined script can name headers of the system only, as in `<linux/tcp.h>`, not "
                                   "`{}`",
                                   name));
}

// The operators that take a header: @cast, @var, @enum and its relatives.
void check_headers(const ast::Expr& expr, Refusals& out) {
    if (expr.kind == ast::ExprKind::Target)
        check_header(static_cast<const ast::TargetExpr&>(expr).module, expr.range, out);
    if (expr.kind == ast::ExprKind::AtOperator)
        for (const ast::Expr* argument : static_cast<const ast::AtOperatorExpr&>(expr).args)
            if (argument->kind == ast::ExprKind::String)
                check_header(static_cast<const ast::StringExpr*>(argument)->value, argument->range, out);
}

// ---- options

bool is_inherited_file(const std::string& path) { return path.starts_with("/proc/self/fd/"); }

// Returns the option that would change something outside of the session, or "".
std::string find_acting_option(const Options& options) {
    const SinkOptions& sinks = options.sinks;
    const auto is_file = [](const PictureRequest& one) { return one.file != "-"; };
    const std::pair<bool, const char*> acting[] = {
        {options.translate.guru, "-g"},
        {!options.translate.folders.empty(), "-I"},
        {!options.session.output.path.empty(), "-o"},
        {!sinks.report.empty() && !is_inherited_file(sinks.report), "--report"},
        {std::ranges::any_of(sinks.pictures, is_file), "--flame and other pictures"},
        {!sinks.record.empty(), "--record"},
        {!options.driver.replay.empty(), "--replay"},
        {sinks.metrics.wanted(), "--metrics"},
        {sinks.otlp.wanted(), "--otlp"},
        {sinks.live_s.has_value(), "--live"},
        {options.driver.background, "-F"},
        {options.driver.editable, "--editable"},
        {options.driver.last_pass == 4, "-p4"},
        {!options.driver.saved_plan.empty(), "a saved plan"},
        {!options.driver.from.empty(), "--from"},
        {options.name_other_machine(), "--sysroot and --arch"},
    };
    const auto* found = std::ranges::find(acting, true, &std::pair<bool, const char*>::first);
    return found == std::end(acting) ? "" : found->second;
}

} // namespace

std::vector<Refusal> find_refused_headers(const ast::Expr& expr) {
    Refusals out;
    for_each_expr(expr, [&](const ast::Expr& one) { check_headers(one, out); });
    return out.take();
}

std::vector<Refusal> find_refused_headers(const std::vector<const ast::File*>& files) {
    Refusals out;
    const auto check = [&](const ast::Expr& one) { check_headers(one, out); };
    const auto check_body = [&](const ast::Stmt* body) {
        if (body)
            for_each_expr(*body, check);
    };
    const auto check_conditions = [&](const std::vector<ast::ProbePoint*>& points) {
        for (const ast::ProbePoint* point : points)
            if (point->condition)
                for_each_expr(*point->condition, check);
    };
    for (const ast::File* file : files) {
        for (const ast::Probe* probe : file->probes) {
            check_conditions(probe->points);
            check_body(probe->body);
        }
        for (const ast::Alias* alias : file->aliases) {
            check_conditions(alias->points);
            check_body(alias->prologue);
            check_body(alias->epilogue);
        }
        for (const ast::Function* function : file->functions)
            check_body(function->body);
    }
    return out.take();
}

std::vector<Refusal> find_refusals(const hir::Program& program, const Sources& sources, const Policies& policies) {
    Refusals out;
    check_operations(program, policies, out);
    check_c_code(program, sources, out);
    check_memory(program, policies, out);
    for (const hir::Handler* handler : program.handlers)
        check_points(*handler, policies, out);
    return out.take();
}

Result<void> check_confined_options(const Options& options, const Policies& policies) {
    if (const std::string acting = find_acting_option(options); !acting.empty())
        return Error(
            fmt::format("a confined session cannot have the option {} (look for it in ~/.systemtap/rc)", acting));
    const SessionOptions& session = options.session;
    const std::string& tool = options.translate.tool;
    for (const Policy& policy : policies) {
        if (!session.command.empty() && std::ranges::find(policy.commands, session.command) == policy.commands.end())
            return Error(fmt::format(
                "the command `{}` is not one of the `commands` that are permitted {}: {}", session.command, by(policy),
                policy.commands.empty() ? "there is none" : fmt::format("`{}`", fmt::join(policy.commands, "`, `"))));
        if (!tool.empty() && policy.tools && !matches(*policy.tools, tool))
            return Error(fmt::format("`{}` is not one of the `tools` that are permitted {}: `{}`", tool, by(policy),
                                     fmt::join(*policy.tools, "`, `")));
        if (tool.empty() && options.runs() && !policy.scripts)
            return Error(fmt::format("only tools may run {}: `scripts` is false", by(policy)));
        if (options.runs() && (session.time_limit_s <= 0 || session.time_limit_s > policy.seconds))
            return Error(fmt::format("a session may take {} seconds {}", policy.seconds, by(policy)));
        if (options.runs() && (!session.overload || *session.overload > policy.overload_percent))
            return Error(fmt::format("expected --overload={} or less {}", policy.overload_percent, by(policy)));
    }
    return {};
}

std::string why_refused(plan::ProbeKind kind, const plan::Point& point, const Policies& policies) {
    for (const Policy& policy : policies)
        if (std::string why = why_no_point(policy, kind, point); !why.empty())
            return why;
    return "";
}

bool permits_program(const std::string& path, const Policies& policies) {
    return std::ranges::all_of(policies, [&](const Policy& policy) { return permits_file(policy, path); });
}

bool limits_points(const Policies& policies) {
    return std::ranges::any_of(policies,
                               [](const Policy& policy) { return policy.programs || policy.points || !policy.kernel; });
}

bool is_listed(const std::string& line, const Policies& policies) {
    constexpr std::string_view begin = "process(\"";
    const bool in_program = line.starts_with(begin);
    const std::string path =
        in_program ? line.substr(begin.size(), line.find('"', begin.size()) - begin.size()) : std::string();
    // The variables of -L follow the point after a blank, outside of the point's parentheses and strings.
    bool is_text = false;
    int depth = 0;
    size_t end = 0;
    for (; end < line.size() && (line[end] != ' ' || is_text || depth > 0); end++) {
        is_text ^= line[end] == '"';
        depth += is_text ? 0 : line[end] == '(' ? 1 : line[end] == ')' ? -1 : 0;
    }
    const std::string point = line.substr(0, end);
    return std::ranges::all_of(policies, [&](const Policy& policy) {
        return (policy.kernel || in_program) && (!in_program || permits_file(policy, path)) &&
               (!policy.points || matches(*policy.points, point));
    });
}

Result<Policies> read_confinement(const Options& options) {
    if (options.driver.confine.empty())
        return Policies();
    Result<Policies> policies = read_policies(options.driver.confine);
    if (policies)
        if (Result<void> checked = check_confined_options(options, *policies); !checked)
            return std::move(checked).error();
    return policies;
}

namespace {

Result<void> as_result(const std::vector<Refusal>& refusals, const Sources& sources) {
    std::vector<std::string> lines;
    for (const Refusal& refusal : refusals)
        lines.push_back(fmt::format("{}: {}", sources.place(refusal.range), refusal.message));
    return lines.empty() ? Result<void>() : Error(fmt::format("{}", fmt::join(lines, "\nERROR: ")));
}

} // namespace

Result<void> confine(const std::vector<const ast::File*>& files, const Sources& sources, const Policies& policies) {
    return policies.empty() ? Result<void>() : as_result(find_refused_headers(files), sources);
}

Result<void> confine(const hir::Program& program, const Sources& sources, const Policies& policies) {
    return policies.empty() ? Result<void>() : as_result(find_refusals(program, sources, policies), sources);
}

} // namespace sonde
