// Each piece is a script of two files: the typed text, and `<session>` with the declarations of the session. Names of
// both are visible in both, as with -E. So messages have the positions of the typed text.
//
// All pieces use one Translation, so the library and debug information are read once. Trees and HIR of earlier pieces
// stay in its arena until the end of the session; they are small.
#include "driver/repl/script.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "base/terminal_text.h"
#include "codegen/c/compile.h"
#include "codegen/codegen.h"
#include "driver/codegen_facts.h"
#include "driver/confine.h"
#include "driver/pass.h"
#include "driver/progress.h"
#include "driver/repl/typed.h"
#include "frontend/parse/statements.h"
#include "frontend/probes/probe.h"
#include "frontend/probes/record_files.h"
#include "frontend/sema/part.h"
#include "frontend/sema/sema.h"
#include "runtime/text/messages.h"

namespace sonde::repl {
namespace {

std::string first_line(const std::string& text) {
    const size_t end = text.find('\n');
    return end == std::string::npos ? text : text.substr(0, end) + " ...";
}

std::string name_of(const ast::Function& function) {
    return fmt::format("{}/{}", function.name, function.params.size());
}

ast::Probe* make_begin_probe(Arena& arena, ast::BlockStmt* body) {
    auto* point = arena.make<ast::ProbePoint>();
    ast::PointComponent begin;
    begin.name = "begin";
    begin.range = body->range;
    point->components.push_back(begin);
    point->range = body->range;
    auto* probe = arena.make<ast::Probe>();
    probe->points.push_back(point);
    probe->body = body;
    probe->range = body->range;
    return probe;
}

// Returns the expression if the block has no other statement.
ast::Expr* only_expression(const ast::BlockStmt& block) {
    ast::Expr* out = nullptr;
    for (const ast::Stmt* stmt : block.body) {
        if (stmt->kind == ast::StmtKind::Empty)
            continue;
        if (out || stmt->kind != ast::StmtKind::Expression)
            return nullptr;
        out = ast::as<ast::ExprStmt>(*stmt).expr;
    }
    return out;
}

bool is_histogram(const ast::Expr& expr) {
    return expr.kind == ast::ExprKind::Statistic &&
           (ast::as<ast::StatisticExpr>(expr).extractor == ast::Extractor::HistLog ||
            ast::as<ast::StatisticExpr>(expr).extractor == ast::Extractor::HistLinear);
}

// Whether the value of an expression is worth printing: it is not an assignment and not a print statement.
bool may_print(const ast::Expr& expr) {
    return expr.kind != ast::ExprKind::Assign && expr.kind != ast::ExprKind::IncDec &&
           (expr.kind != ast::ExprKind::Print || ast::as<ast::PrintExpr>(expr).to_string);
}

// Whether the handler's only statement has a value. A call of a function without a result has none.
bool has_value(const hir::Program& program) {
    if (program.handlers.empty())
        return false;
    const hir::Stmt* at = program.handlers.back()->body;
    while (at->kind == hir::StmtKind::Block) {
        const auto& block = hir::as<hir::Block>(*at);
        if (block.body.empty())
            return false;
        at = block.body.back();
    }
    if (at->kind != hir::StmtKind::Expression)
        return false;
    const hir::ValueType type = hir::as<hir::ExprStmt>(*at).expr->type;
    return type == hir::ValueType::Long || type == hir::ValueType::String;
}

std::string trimmed(const std::string& text) {
    const size_t begin = text.find_first_not_of(" \t\n;"), end = text.find_last_not_of(" \t\n;");
    return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

} // namespace

Result<std::unique_ptr<Script>> Script::open(const Options& options, const Policies& policies) {
    Result<UserTexts> texts = read_user_texts(options);
    if (!texts)
        return std::move(texts).error();
    std::unique_ptr<Script> out(new Script(options, policies));
    if (Result<void> parsed = parse(out->t, options, *std::move(texts)); !parsed)
        return std::move(parsed).error();
    for (const std::string& name : probe_kind_names())
        out->point_words_.insert(name);
    for (const std::string& name : out->t.library->alias_names())
        out->point_words_.insert(name);
    return out;
}

std::unique_ptr<Diagnostics> Script::make_diagnostics() const {
    auto out = std::make_unique<Diagnostics>(t.sources);
    out->warnings_off = options_.translate.warnings_off;
    out->warnings_fatal = options_.translate.warnings_fatal;
    return out;
}

// Warnings about declarations, such as one of a global that is never read, would be wrong: other probes may do that.
bool Script::report(const Diagnostics& diags) {
    std::string out;
    for (const Diagnostic& diag : diags.all())
        if (diag.severity == Severity::Error || !declaring_files_.contains(diag.range.file))
            out += (out.empty() ? "" : "\n") + diags.render(diag, in_color(options_));
    fmt::print(stderr, "{}", out);
    t.report(Diagnostics(t.sources)); // what the debug information lacks
    return !diags.has_errors();
}

bool Script::is_global(std::string_view word) const {
    return std::ranges::any_of(
        declarations_, [&](const Declaration& one) { return one.kind == Declaration::Global && one.name == word; });
}

std::vector<std::string> Script::global_names() const {
    std::vector<std::string> out;
    for (const Declaration& one : declarations_)
        if (one.kind == Declaration::Global)
            out.push_back(one.name);
    return out;
}

std::set<std::string> Script::known_names() const {
    const std::vector<std::string> names = global_names();
    return {names.begin(), names.end()};
}

bool Script::declare(const std::string& text, std::vector<std::string>& probes, std::vector<std::string>& said) {
    const std::unique_ptr<Diagnostics> diags = make_diagnostics();
    const FileId id = t.sources.add("<input>", text);
    const ast::File* file = parse_file(id, t.sources, t.parse_options, t.arena, *diags);
    for (const ast::Global* global : file->globals)
        if (is_global(global->name))
            diags->report(DiagId::Redefinition, global->range, fmt::format("global `{}` exists already", global->name))
                .help(fmt::format("`delete {}` clears it", global->name));
    diags->say_held();
    if (!report(*diags))
        return false;
    if (file->is_empty() && file->c_blocks.empty())
        say_error("this declares nothing");
    const auto put = [&](Declaration declaration, const std::string& what) {
        const auto same = std::ranges::find_if(declarations_, [&](const Declaration& one) {
            return one.kind == declaration.kind && one.name == declaration.name && !one.name.empty();
        });
        said.push_back(same == declarations_.end()
                           ? fmt::format("{} is declared", what)
                           : fmt::format("{} is replaced for new probes; those that run keep the old one", what));
        if (same == declarations_.end())
            declarations_.push_back(std::move(declaration));
        else
            *same = std::move(declaration);
    };
    for (const ast::CBlock& block : file->c_blocks)
        put({Declaration::C, "", std::string(t.sources.text(block.range))}, "C code");
    for (const ast::Global* global : file->globals)
        put({Declaration::Global, global->name, declaration_of(*global), first_line(trimmed(text))},
            fmt::format("global `{}`", global->name));
    for (const ast::Function* function : file->functions)
        put({Declaration::Function, name_of(*function), std::string(t.sources.text(function->range))},
            fmt::format("function `{}`", function->name));
    for (const ast::Alias* alias : file->aliases) {
        const std::string name = ast::to_source(*alias->names[0]);
        for (const ast::ProbePoint* point : alias->names)
            point_words_.insert(point->components[0].name);
        put({Declaration::Alias, name, std::string(t.sources.text(alias->range))}, fmt::format("alias `{}`", name));
    }
    for (const ast::Probe* probe : file->probes)
        probes.emplace_back(t.sources.text(probe->range));
    return true;
}

hir::Program* Script::analyze_probe(const ast::Probe& probe, FileId file, const std::vector<std::string>& new_globals,
                                    Diagnostics& diags) {
    std::string session;
    for (const Declaration& one : declarations_)
        session +=
            one.kind == Declaration::Global ? fmt::format("global {} # {}\n", one.text, one.why) : one.text + "\n";
    for (const std::string& name : new_globals)
        session += fmt::format("global {} # created by this use\n", name);
    const FileId session_id = t.sources.add("<session>", session);
    declaring_files_.insert(session_id);
    const ast::File* declared = parse_file(session_id, t.sources, t.parse_options, t.arena, diags);
    auto* typed = t.arena.make<ast::File>();
    typed->id = file;
    typed->probes.push_back(const_cast<ast::Probe*>(&probe));
    diags.say_held();
    if (diags.has_errors())
        return nullptr;
    t.files = {typed, declared};
    if (Result<void> permitted = confine(t.files, t.sources, policies_); !permitted)
        return say_error(permitted.error().message), nullptr;
    const Progress progress("finding probe points and their debug information");
    return analyze_part(t.files, *t.library, t.env, options_.translate, t.arena, diags, shared_);
}

std::unique_ptr<Piece> Script::translate(const ast::Probe& probe, FileId file, const std::string& text,
                                         std::vector<std::string> new_globals) {
    const std::unique_ptr<Diagnostics> diags = make_diagnostics();
    hir::Program* program = analyze_probe(probe, file, new_globals, *diags);
    if (!report(*diags) || !program)
        return nullptr;
    const auto refuse = [](const Error& error) { return say_error(error.message), nullptr; };
    if (Result<void> permitted = confine(*program, t.sources, policies_); !permitted)
        return refuse(permitted.error());
    if (!program->counters.empty())
        return refuse(Error("performance counters that handlers read are not possible in an interactive session; run "
                            "the script with `sonde -e`"));
    Result<std::vector<plan::ProbedFile>> files = record_files(*program, t.env);
    if (!files)
        return refuse(files.error());
    program->files = *std::move(files);
    CodegenFacts facts = find_codegen_facts(options_, t, *program);
    Diagnostics in_c(t.sources);
    Result<std::optional<CCode>> c_code = compile_c_code(*program, options_.translate, facts, kernel_for_c(t), in_c);
    if (!c_code)
        return refuse(c_code.error());
    if (!report(in_c))
        return nullptr;
    auto code = std::make_shared<std::optional<CCode>>(*std::move(c_code));
    if (Result<void> added = add_plan_facts(facts, t, options_, *program, *code ? &**code : nullptr); !added)
        return refuse(added.error());
    rearrange_ = [this, program, facts, code](uint32_t arrangement) {
        Translate other = options_.translate;
        other.arrangement += arrangement;
        return generate(*program, t.sources, other, facts, {}, nullptr, &shared_);
    };
    Result<plan::Plan> plan = generate(*program, t.sources, options_.translate, facts, {}, nullptr, &shared_);
    if (!plan)
        return refuse(plan.error());
    auto out = std::make_unique<Piece>();
    out->text = text;
    out->new_globals = std::move(new_globals);
    out->plan = *std::move(plan);
    out->points = out->plan.rows.size();
    return out;
}

std::unique_ptr<Piece> Script::translate_probe(const std::string& text) {
    const std::unique_ptr<Diagnostics> diags = make_diagnostics();
    const FileId id = t.sources.add("<input>", text);
    const ast::File* file = parse_file(id, t.sources, t.parse_options, t.arena, *diags);
    diags->say_held();
    if (diags->has_errors() || file->probes.size() != 1)
        return report(*diags), nullptr;
    const ast::Probe& probe = *file->probes[0];
    return translate(probe, id, text, find_new_globals(*probe.body, id, known_names(), false));
}

// A name alone can also be a function that is called without parentheses.
std::string Script::why_no_value(const std::string& name) {
    if (is_global(name))
        return fmt::format("`{}` has no value yet: no probe has used the global", name);
    const bool is_function = std::ranges::any_of(declarations_, [&](const Declaration& one) {
        return one.kind == Declaration::Function && one.name.starts_with(name + "/");
    });
    if (is_function || !t.library->files_with_function(name).empty())
        return "";
    const std::string near = nearest_name(name, global_names());
    return fmt::format("there is no global `{}`{}", name,
                       near.empty() ? "; `list` shows the globals" : fmt::format("; did you mean `{}`?", near));
}

std::unique_ptr<Piece> Script::translate_statements(const std::string& text) {
    const std::unique_ptr<Diagnostics> diags = make_diagnostics();
    const FileId id = t.sources.add("<input>", text);
    ast::BlockStmt* block = parse_statements(id, t.sources, t.parse_options, t.arena, *diags);
    diags->say_held();
    if (!report(*diags))
        return nullptr;
    const std::vector<std::string> new_globals = find_new_globals(*block, id, known_names(), true);
    const ast::Expr* expr = only_expression(*block);
    if (expr && expr->kind == ast::ExprKind::Name)
        if (const std::string why = why_no_value(ast::as<ast::NameExpr>(*expr).name); !why.empty())
            return say_error(why), nullptr;
    bool prints = expr && is_histogram(*expr);
    if (expr && !prints && may_print(*expr)) {
        Diagnostics trial(t.sources);
        const hir::Program* program = analyze_probe(*make_begin_probe(t.arena, block), id, new_globals, trial);
        if (!program) { // without warnings about a value that is not used
            Diagnostics errors(t.sources);
            errors.warnings_off = true;
            analyze_probe(*make_begin_probe(t.arena, block), id, new_globals, errors);
            return report(errors), nullptr;
        }
        prints = has_value(*program);
    }
    if (prints) {
        auto* print = t.arena.make<ast::PrintExpr>(expr->range);
        print->newline = !is_histogram(*expr);
        print->name = print->newline ? "println" : "print";
        print->args.push_back(const_cast<ast::Expr*>(expr));
        auto* statement = t.arena.make<ast::ExprStmt>(expr->range, print);
        block = t.arena.make<ast::BlockStmt>(expr->range);
        block->body.push_back(statement);
    }
    return translate(*make_begin_probe(t.arena, block), id, text, new_globals);
}

bool Script::list_points(const std::string& text) {
    const std::unique_ptr<Diagnostics> diags = make_diagnostics();
    const FileId id = t.sources.add("<input>", text);
    const std::vector<ast::ProbePoint*> points = parse_probe_points(id, t.sources, t.parse_options, t.arena, *diags);
    std::vector<std::string> lines;
    if (!diags->has_errors()) {
        t.files.clear();
        std::string aliases;
        for (const Declaration& one : declarations_)
            if (one.kind == Declaration::Alias)
                aliases += one.text + "\n";
        if (!aliases.empty())
            t.files.push_back(
                parse_file(t.sources.add("<session>", aliases), t.sources, t.parse_options, t.arena, *diags));
        const Progress progress("finding probe points and their debug information");
        t.env.listing = t.env.listing_variables = true;
        lines = sonde::list_points(points, true, t.files, *t.library, t.env, t.arena, *diags);
        t.env.listing = t.env.listing_variables = false;
    }
    report(*diags);
    std::erase_if(lines, [&](const std::string& line) { return !is_listed(line, policies_); });
    const bool for_terminal = !options_.session.raw && is_capable_terminal(fileno(stdout));
    for (const std::string& line : lines)
        fmt::print("{}\n", for_terminal ? terminal_text(line) : line);
    fflush(stdout);
    return !lines.empty();
}

void Script::adopt(const Piece& piece) {
    for (const std::string& name : piece.new_globals)
        declarations_.push_back({Declaration::Global, name, name, first_line(trimmed(piece.text))});
    for (const plan::Global& global : piece.plan.globals) {
        if (!plan::is_shared(global) || shared_.find(global.name))
            continue;
        shared_.globals.push_back(global);
        if (const uint64_t size = plan::shared_size(global, piece.plan.max_string))
            shared_.next = std::max(shared_.next, global.offset + size);
    }
}

std::string Script::to_text(const std::vector<std::string>& probes) const {
    std::string out;
    for (const Declaration& one : declarations_)
        out += (one.kind == Declaration::Global ? "global " + one.text : one.text) + "\n";
    for (const std::string& probe : probes)
        out += (out.empty() ? "" : "\n") + probe + "\n";
    return out;
}

} // namespace sonde::repl
