// The condition is a text in the script's language, so it is parsed as a small script of its own:
//
//     probe never { if (
//     $return < 0
//     ) dump("$return < 0") }
//
// Its only statement is then added to the handlers of the user's script. Each handler gets a tree of its own, because
// later passes keep facts about nodes. Whether a target variable exists is known only when the points are resolved, so
// the statement is enclosed in `if (@defined($return))`.
#include "driver/dump_when.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontend/ast/walk.h"
#include "frontend/hir/walk.h"

namespace sonde {
namespace {

constexpr const char* file_name = "--dump-when";

std::string in_quotes(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + '"';
}

// What an expression needs of a handler.
struct Needs {
    std::set<std::string> names; // of variables
    bool at_return = false;      // @entry
};
Needs needs_of(const ast::Stmt& statement) {
    Needs out;
    for_each_expr(*static_cast<const ast::IfStmt&>(statement).condition, [&](const ast::Expr& expr) {
        if (expr.kind == ast::ExprKind::Name)
            out.names.insert(ast::as<ast::NameExpr>(expr).name);
        else if (expr.kind == ast::ExprKind::Index)
            out.names.insert(ast::as<ast::IndexExpr>(expr).name);
        out.at_return = out.at_return || expr.kind == ast::ExprKind::Entry;
    });
    return out;
}

// Parses a condition again. Returns null after an error.
ast::Stmt* parse_condition(Translation& t, FileId file) {
    ast::File* parsed = parse_file(file, t.sources, t.parse_options, t.arena, t.diags);
    if (t.diags.has_errors())
        return nullptr;
    const bool is_one = parsed->probes.size() == 1 && parsed->globals.empty() && parsed->functions.empty() &&
                        parsed->aliases.empty() && parsed->probes[0]->body->body.size() == 1 &&
                        parsed->probes[0]->body->body[0]->kind == ast::StmtKind::If;
    if (is_one)
        return parsed->probes[0]->body->body[0];
    t.diags.report(DiagId::Syntax, {file, 0, 0}, "--dump-when takes one expression, such as '$return < 0'");
    return nullptr;
}

// Encloses the condition in `if (@defined(...))` for each target variable.
ast::Stmt* where_defined(Translation& t, ast::Stmt* condition) {
    std::vector<ast::Expr*> targets;
    for_each_expr(*static_cast<ast::IfStmt*>(condition)->condition, [&](const ast::Expr& expr) {
        if (expr.kind == ast::ExprKind::Target)
            targets.push_back(const_cast<ast::Expr*>(&expr));
    });
    ast::Stmt* out = condition;
    for (ast::Expr* target : targets)
        out = t.arena.make<ast::IfStmt>(condition->range, t.arena.make<ast::DefinedExpr>(target->range, target), out,
                                        nullptr);
    return out;
}

bool mentions(const ast::Probe& probe, const std::string& name) {
    bool out = false;
    for_each_expr(*probe.body, [&](const ast::Expr& expr) {
        out = out || (expr.kind == ast::ExprKind::Name && ast::as<ast::NameExpr>(expr).name == name);
    });
    return out;
}

bool has_condition(const ast::Probe& probe, bool at_return) {
    return std::ranges::all_of(probe.points, [&](const ast::ProbePoint* point) {
        const std::string& first = point->components.front().name;
        const bool is_return = std::ranges::any_of(
            point->components, [](const ast::PointComponent& component) { return component.name == "return"; });
        return first != "begin" && first != "end" && first != "error" && first != "never" && (is_return || !at_return);
    });
}

} // namespace

void add_dump_conditions(Translation& t, const Options& options) {
    for (const std::string& text : options.sinks.dump_when) {
        if (t.diags.has_errors())
            return;
        const FileId file =
            t.sources.add(file_name, fmt::format("probe never {{ if (\n{}\n) dump({}) }}\n", text, in_quotes(text)));
        const ast::Stmt* parsed = parse_condition(t, file);
        if (!parsed)
            return;
        const Needs needs = needs_of(*parsed);
        std::vector<ast::Probe*> probes;
        std::set<std::string> known; // globals, and names that no handler mentions: a library can declare these
        for (const ast::File* one : t.files) {
            for (const ast::Global* global : one->globals)
                known.insert(global->name);
            for (ast::Probe* probe : one->probes)
                if (has_condition(*probe, needs.at_return))
                    probes.push_back(probe);
        }
        for (const std::string& name : needs.names)
            if (std::ranges::none_of(probes, [&](const ast::Probe* probe) { return mentions(*probe, name); }))
                known.insert(name);
        size_t added = 0;
        for (ast::Probe* probe : probes) {
            const auto is_known = [&](const std::string& name) {
                return known.contains(name) || mentions(*probe, name);
            };
            if (!std::ranges::all_of(needs.names, is_known))
                continue;
            probe->body->body.push_back(where_defined(t, parse_condition(t, file)));
            added++;
        }
        if (added == 0)
            t.diags
                .report(DiagId::Syntax, {file, 0, 0},
                        fmt::format("no handler can evaluate `{}`: {}", text,
                                    needs.at_return ? "@entry needs a probe of a return"
                                                    : "no handler has all of its variables"))
                .help("--dump-when is evaluated at the end of each handler that has its variables");
    }
}

void check_dump_conditions(const Translation& t, const Options& options, const hir::Program& program,
                           Diagnostics& diags) {
    if (options.sinks.dump_when.empty())
        return;
    const auto is_condition = [&](FileId file) { return file > 0 && t.sources.name(file) == file_name; };
    std::set<FileId> evaluated;
    std::map<std::string, Range> unknown; // names that only conditions have
    for (const hir::Handler* handler : program.handlers) {
        std::map<const hir::Local*, Range> here;
        std::set<const hir::Local*> elsewhere;
        for_each_expr(*handler, [&](const hir::Expr& expr) {
            if (expr.kind == hir::ExprKind::Call || expr.kind == hir::ExprKind::Intrinsic) // that of dump()
                evaluated.insert(expr.range.file);
            if (expr.kind != hir::ExprKind::LocalRef)
                return;
            const hir::Local* local = hir::as<hir::LocalRef>(expr).local;
            if (is_condition(expr.range.file))
                here.emplace(local, expr.range);
            else
                elsewhere.insert(local);
        });
        for (const auto& [local, range] : here)
            if (!elsewhere.contains(local))
                unknown.emplace(local->name, range);
    }
    for (const auto& [name, range] : unknown)
        diags.report(DiagId::UnknownVariable, range, fmt::format("no handler has a variable `{}`", name));
    for (FileId file = 1; file <= t.sources.last(); file++)
        if (is_condition(file) && !evaluated.contains(file))
            diags
                .report(DiagId::Syntax, {file, 0, 0},
                        "no handler evaluates this condition: no probe point has its target variables")
                .help("for example, only probes of returns have `$return`");
}

} // namespace sonde
