// Builds handlers, and decides which probe points share one.
//
// The problem. `process("x").function("*")` has thousands of points. A BPF program for each would take minutes to
// compile and verify. But `$x` may be in another register at each point, or may not exist.
//
// The idea. If the body does not mention the probe point, build it once for all points of the probe (by_code_).
// Otherwise build its HIR for each point, and let points with equal HIR (hir::identity()) share a handler (by_body_). A
// variable that is in the same place at a thousand points then needs one program.
//
// A sharing key also contains everything about the point that changes how code is generated or attached, such as the
// probe kind or the conditions of aliases. If you add such a property to ResolvedPoint, add it to SharingKey. Otherwise
// two different points share a handler, and one of them gives wrong values. What only some kinds know about sharing is
// in ResolvedPoint::sharing.
//
// A handler that names a variable which does not exist at some points is left out there, with a warning. It is an error
// if no point remains.
#include <algorithm>
#include <compare>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/glob.h"
#include "frontend/ast/walk.h"
#include "frontend/hir/identity.h"
#include "frontend/hir/walk.h"
#include "frontend/points/no_result.h"
#include "frontend/sema/arrivals.h"
#include "frontend/sema/build_expr.h"
#include "frontend/sema/build_stmt.h"
#include "frontend/sema/build_target.h"
#include "frontend/sema/handlers.h"
#include "frontend/sema/python_points.h"
#include "frontend/variables/readable_calls.h"
#include "frontend/variables/source_program.h"
#include "runtime/plan/kinds.h"

namespace sonde {

namespace {

// Returns the name that a statement `name = expression` assigns; else null. The aliases of the library consist mostly
// of such statements: `probe syscall.open = ... { filename = user_string_quoted($filename)  flags = $flags ... }`. A
// handler that uses only pid() must not pay for reading the file's name. So build_handler() drops assignments to names
// that nothing mentions.
const std::string* only_sets(const ast::Stmt& stmt) {
    if (stmt.kind != ast::StmtKind::Expression)
        return nullptr;
    const ast::Expr& expr = *ast::as<ast::ExprStmt>(stmt).expr;
    if (expr.kind != ast::ExprKind::Assign)
        return nullptr;
    const auto& assign = ast::as<ast::AssignExpr>(expr);
    if (assign.op || assign.aggregate || assign.target->kind != ast::ExprKind::Name)
        return nullptr;
    return &ast::as<ast::NameExpr>(*assign.target).name;
}

// Returns all names in a handler's body and in the blocks of its aliases, except the targets of simple assignments.
std::set<std::string> mentioned_names(const Expansion& expansion, const ast::Probe& probe) {
    std::set<std::string> names;
    auto visit = [&](const ast::Expr& expr) {
        if (expr.kind == ast::ExprKind::Name)
            names.insert(ast::as<ast::NameExpr>(expr).name);
    };
    for_each_expr(*probe.body, visit);
    for (const Expansion::Piece& piece : expansion.epilogues)
        for_each_expr(*piece.block, visit);
    for (const Expansion::Piece& piece : expansion.prologues)
        for (const ast::Stmt* stmt : piece.block->body) {
            if (only_sets(*stmt))
                for_each_expr(*ast::as<ast::AssignExpr>(*ast::as<ast::ExprStmt>(*stmt).expr).value, visit);
            else
                for_each_expr(*stmt, visit);
        }
    return names;
}

const char* name_of(PythonPoint::Event event) {
    return event == PythonPoint::Call ? "call" : event == PythonPoint::Return ? "return" : "exception";
}

bool is_never(plan::ProbeKind kind) { return plan::traits(kind).cause == plan::Cause::Nobody; }
} // namespace

// Builds the handler for one point. The order of its parts is the order of execution: conditions, prologues from the
// outermost alias in, the body, epilogues.
hir::Handler* Handlers::build_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved) {
    auto* handler = in_.context.arena.make<hir::Handler>();
    handler->range = probe.range;
    in_.tables.heads[handler] = probe.points[0]->range;
    handler->kind = resolved.point.kind;
    handler->in_kernel = resolved.point.in_kernel;
    if (in_.context.options.host_probes == HandlerPlace::Kernel && !is_never(handler->kind) &&
        !plan::is_file(handler->kind) && !resolved.point.recorded)
        handler->in_kernel = true;
    handler->timer = resolved.point.timer;
    handler->order = resolved.point.order;
    handler->checks_stack = resolved.point.is_function && resolved.point.function.checks_stack;
    handler->at_return = resolved.point.at_return_instruction || resolved.point.after_call;
    handler->after_call = resolved.point.after_call;
    handler->is_go = resolved.point.is_go;
    handler->reads_registers = resolved.point.reads_registers;
    handler->body = in_.context.arena.make<hir::Block>(probe.range);
    Body body(in_, file, handler->locals, resolved.point, *handler, *probe.body);
    auto require = [&](hir::Expr* value) {
        if (value)
            handler->condition =
                handler->condition ? in_.context.arena.make<hir::Logical>(value->range, true, handler->condition, value)
                                   : value;
    };
    // This must run first: it removes the mark of an arrival (arrivals.h), whether or not the handler's other
    // conditions hold.
    const int64_t which = number_at_place(resolved.point);
    require(build_first_arrival(body, resolved.point, which, probe.points[0]->range));
    require(build_callers(body, probe.points[0]->range));
    require(bind_jump_taken(resolved.point, probe.points[0]->range, in_.context.arena));
    Binder binder = make_binder(body, probe.points[0]->range);
    require(build_python_condition(body, binder, probe.points[0]->range));
    const Expansion& expansion = *resolved.expansion;
    for (const Expansion::Condition& condition : expansion.conditions)
        require(build_condition(body, *condition.expr, condition.file));
    // Drop assignments in library aliases whose variable the handler does not use.
    std::set<std::string> mentioned = mentioned_names(expansion, probe);
    for (const Expansion::Piece& piece : expansion.prologues) {
        ast::BlockStmt wanted = *piece.block;
        if (!in_.context.options.unoptimized && in_.context.diags.sources().is_tapset(piece.file))
            std::erase_if(wanted.body, [&](const ast::Stmt* stmt) {
                const std::string* name = only_sets(*stmt);
                return name && !mentioned.contains(*name) && !in_.names.find_global(*name, piece.file, true);
            });
        build_block(body, wanted, piece.file, *handler->body);
    }
    build_block(body, *probe.body, file, *handler->body);
    for (const Expansion::Piece& piece : expansion.epilogues)
        build_block(body, *piece.block, piece.file, *handler->body);
    if (resolved.point.python)
        require(build_python_seen(body, binder, probe.points[0]->range));
    // A local that is read and never assigned is probably meant to be the traced program's variable; the message says
    // to write `$`.
    for (const hir::Local* local : handler->locals)
        if (in_.tables.read.contains(local) && !in_.tables.assigned.contains(local) &&
            has_variable(resolved.point, local->name))
            in_.tables.traced.insert(local);
    // An entry value is stored when the function's first instruction is hit. If a loop jumps back there, later rounds
    // would overwrite the value.
    if (!handler->entry_values.empty() && !resolved.point.repeats.empty())
        in_.context
            .report_once(DiagId::WrongContext, probe.points[0]->range,
                         fmt::format("`{}` begins with a loop, so sonde cannot save a value at its first instruction "
                                     "for the return: each iteration would overwrite the value",
                                     resolved.point.function.name))
            .help("save the value in an array by `tid()` in a probe of the function's entry");
    // Entry values of Go functions belong to the goroutine and are stored differently (codegen/bpf/entry_values.cc).
    if (!handler->entry_values.empty() && !handler->is_go)
        handler->entry_stack = bind_entry_stack(resolved.point, probe.points[0]->range, in_.context.arena,
                                                in_.context.diags, in_.context.env);
    return handler;
}

namespace {

// Whether the problem is specific to this place; other places of the same point may not have it.
bool is_about_place(DiagId id) {
    return id == DiagId::VariableUnavailable || id == DiagId::UnknownVariable || id == DiagId::NoDebugInfo;
}

// Describes a place: "f@x.c:10 at 0x1139".
std::string place_of(const ResolvedPoint& point) {
    if (point.recorded)
        return fmt::format("`{}`", point.recorded->name);
    const std::string& text = point.point.pp;
    size_t begin = text.rfind("(\""), end = text.find("\")", begin == std::string::npos ? 0 : begin);
    const std::string name = end == std::string::npos ? text : text.substr(begin + 2, end - begin - 2);
    return fmt::format("`{}` at {:#x}", name, point.address);
}

} // namespace

hir::Handler* Handlers::try_handler(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved,
                                    std::string& why) {
    {
        Diagnostics::Suppress quiet(in_.context.diags);
        hir::Handler* handler = build_handler(probe, file, resolved);
        const auto reports = quiet.reports();
        if (reports.empty())
            return handler;
        if (quiet.errors() > 0 && is_about_place(reports[0].first)) {
            why = reports[0].second;
            return nullptr;
        }
    }
    return build_handler(probe, file, resolved); // to report its errors
}

void Handlers::warn_of_left_out(const ast::Probe& probe,
                                const std::vector<std::pair<std::string, std::string>>& left_out, size_t others) {
    constexpr size_t most = 4;
    std::string places;
    for (size_t i = 0; i < left_out.size() && i < most; i++)
        places += (i == 0 ? "" : ", ") + left_out[i].first;
    if (left_out.size() > most)
        places += fmt::format(", and {} more", left_out.size() - most);
    in_.context
        .report_once(DiagId::LeftOut, probe.points[0]->range,
                     fmt::format("{} of {} places {} skipped: {}", left_out.size(), left_out.size() + others,
                                 left_out.size() == 1 ? "is" : "are", places))
        .note({}, fmt::format("{}: {}", left_out[0].first, left_out[0].second))
        .help("the handler does not run at these places; test a variable with `@defined` before you read it");
}

namespace {
std::string handler_name(size_t number) { return fmt::format("probe_{}", number); }

bool has_point_number(const hir::Handler& handler) {
    bool found = false;
    for_each_expr(handler, [&](const hir::Expr& expr) { found = found || expr.kind == hir::ExprKind::PointNumber; });
    return found;
}
} // namespace

void Handlers::keep_handler(hir::Handler& handler) {
    handler.name = handler_name(in_.program.handlers.size());
    in_.program.handlers.push_back(&handler);
}

namespace {

// Returns a key for the conditions that aliases add.
std::string conditions_of(const Expansion& expansion) {
    std::string key;
    for (const Expansion::Condition& condition : expansion.conditions)
        key += fmt::format(" ?{}", static_cast<const void*>(condition.expr));
    return key;
}

// Returns a key for the blocks that aliases add.
std::string code_of(const Expansion& expansion) {
    std::string key;
    for (const auto* pieces : {&expansion.prologues, &expansion.epilogues}) {
        key += "/";
        for (const Expansion::Piece& piece : *pieces)
            key += fmt::format(" {}", static_cast<const void*>(piece.block));
    }
    return key;
}

// Whether a pattern has found a function without debug information in a program that has debug information. Most of
// these are start-up code, such as _start and frame_dummy. They have no variables, so a handler that names variables is
// not meant for them.
bool is_beside(const ResolvedPoint& point) {
    return point.module && !point.mark && !point.plt && !point.function.has_debug_info &&
           point.module->has_debug_info() && has_wildcard(point.point.pn);
}

// Adds the `$variables` that the body checks with `@defined`.
void add_asked_for(const ast::Stmt& body, std::set<std::string>& names) {
    for_each_expr(body, [&](const ast::Expr& expr) {
        const ast::Expr* asked = nullptr;
        if (expr.kind == ast::ExprKind::Defined)
            asked = ast::as<ast::DefinedExpr>(expr).operand;
        else if (expr.kind == ast::ExprKind::AtOperator && ast::as<ast::AtOperatorExpr>(expr).name == "@choose_defined")
            asked = ast::as<ast::AtOperatorExpr>(expr).args[0];
        if (asked)
            for_each_expr(*asked, [&](const ast::Expr& inner) {
                if (inner.kind == ast::ExprKind::Target)
                    names.insert(ast::as<ast::TargetExpr>(inner).name);
            });
    });
}

bool needs_variables(const std::vector<const ast::TargetExpr*>& targets, const std::set<std::string>& asked_for) {
    return std::ranges::any_of(targets, [&](const ast::TargetExpr* target) {
        return target->base == ast::TargetExpr::Variable && !target->name.starts_with("$$") &&
               !asked_for.contains(target->name);
    });
}

} // namespace

static std::string place_key(const plan::Point& point) {
    return fmt::format("{} {} {} {}", point.path, point.offset, point.pid, point.program);
}

int64_t Handlers::number_at_place(const ResolvedPoint& point) {
    return point.repeats.empty() ? 0 : arrivals_at_[place_key(point.point)];
}

void Handlers::keep_arrival_notes(const ast::Probe& probe, FileId file, const Expander::Resolved& resolved,
                                  hir::Handler& handler, std::map<std::string, hir::Handler*>& notes) {
    if (resolved.point.repeats.empty())
        return;
    Body body(in_, file, handler.locals, resolved.point, handler, *probe.body);
    const int64_t which = number_at_place(resolved.point);
    for (hir::Handler* note : build_arrival_notes(body, handler, resolved.point, which)) {
        hir::Handler*& shared = notes[hir::identity(*note)];
        if (!shared) {
            shared = note;
            in_.tables.heads[note] = probe.points[0]->range;
            keep_handler(*note);
        } else {
            shared->points.push_back(note->points[0]);
        }
    }
    // The next point at this address gets separate marks.
    arrivals_at_[place_key(resolved.point.point)]++;
}

PointUses Handlers::point_uses_of(const Expansion& expansion, const ast::Probe& probe, FileId file) {
    PointUses uses = in_.point_uses.of_body(*probe.body, file);
    auto add = [&](const PointUses& more) {
        uses.point = uses.point || more.point;
        uses.address = uses.address || more.address;
        uses.targets.insert(uses.targets.end(), more.targets.begin(), more.targets.end());
        uses.registers = uses.registers || more.registers;
        uses.writes = uses.writes || more.writes;
        uses.sets_result = uses.sets_result ? uses.sets_result : more.sets_result;
        uses.result = uses.result ? uses.result : more.result;
    };
    for (const auto* pieces : {&expansion.prologues, &expansion.epilogues})
        for (const Expansion::Piece& piece : *pieces)
            add(in_.point_uses.of_body(*piece.block, piece.file));
    for (const Expansion::Condition& condition : expansion.conditions)
        for_each_expr(*condition.expr, [&](const ast::Expr& expr) { uses.point = uses.point || mentions_point(expr); });
    return uses;
}

// Example: `return g(x + 1)` at the end of f can be compiled to `jmp g`. At this jump, f is over and its result does
// not exist yet. A pattern drops such functions completely. If only the jump was dropped, the results of f's other
// returns would look like those of all calls.
bool Handlers::keep_known_results(const ast::Probe& probe, FileId file, std::vector<Expander::Resolved>& points) {
    using Function = std::pair<const DwarfModule*, Address>;
    auto function_of = [](const ResolvedPoint& point) { return Function(point.module, point.function.entry); };
    auto leaves_by_jump = [](const Expander::Resolved& one) { return one.point.leaves_by_jump; };
    std::set<std::string> asked_for;
    add_asked_for(*probe.body, asked_for);
    const auto first = std::ranges::find_if(points, leaves_by_jump);
    if (first == points.end() || asked_for.contains("$return"))
        return true;
    const ast::Expr* result = point_uses_of(*first->expansion, probe, file).result;
    if (!result)
        return true;
    const std::string what =
        result->kind == ast::ExprKind::Target ? ast::as<ast::TargetExpr>(*result).name : "returnval()";
    const std::string why = why_no_result(first->point, what);
    std::map<Function, std::string> dropped;
    std::set<Function> all;
    for (const Expander::Resolved& one : points) {
        all.insert(function_of(one.point));
        if (one.point.leaves_by_jump && has_wildcard(one.point.point.pn))
            dropped.emplace(function_of(one.point), one.point.function.name);
    }
    std::erase_if(points, [&](const Expander::Resolved& one) { return dropped.contains(function_of(one.point)); });
    if (points.empty() || std::ranges::any_of(points, leaves_by_jump)) {
        in_.context.report_once(DiagId::VariableUnavailable, probe.points[0]->range, why).help(no_result_advice);
        return false;
    }
    constexpr size_t most_names = 5;
    std::string names;
    for (size_t i = 0; const auto& [function, name] : dropped)
        if (i++ < most_names)
            names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
    if (dropped.size() > most_names)
        names += fmt::format(" and {} more", dropped.size() - most_names);
    in_.context
        .report_once(DiagId::NoResult, probe.points[0]->range,
                     fmt::format("{} of {} functions that match are skipped, because they jump to other functions, "
                                 "which return in their place: {}",
                                 dropped.size(), all.size(), names))
        .note({}, why)
        .help(no_result_advice);
    return true;
}

namespace {

// Everything about a point that changes how code is made for it or attached. Points with equal keys and equal code
// share a handler. Properties that a point's HIR already shows, such as the registers of its variables, are not needed
// here.
struct SharingKey {
    plan::ProbeKind kind;
    bool in_kernel, is_go, at_return_instruction, checks_stack, is_syscall, is_exit, after_call, lacks_result;
    int64_t order;
    uint64_t interval_ns, random_ns;
    std::optional<JumpCondition> jump_condition;
    std::string conditions; // of aliases
    std::string only;       // Sharing::only
    int repetition;         // how many points with the same Sharing::once came before

    auto operator<=>(const SharingKey&) const = default;
};

} // namespace

// Builds the handlers of one probe.
class Handlers::OneProbe {
  public:
    OneProbe(Handlers& handlers, const ast::Probe& probe, FileId file, std::vector<Expander::Resolved>& points)
        : handlers_(handlers), in_(handlers.in_), probe_(probe), file_(file), points_(points) {
        // For many system calls, one routine that reads a table is smaller than separate code for each call.
        constexpr int many_calls = 8;
        has_many_ =
            std::ranges::count_if(points, [](const auto& one) { return one.point.syscall != nullptr; }) > many_calls &&
            in_.context.options.loops.empty() && in_.context.env.kernel_facts &&
            in_.context.env.kernel_facts->may_goto();
    }

    void build() {
        for (Expander::Resolved& resolved : points_)
            if (!add(resolved))
                return; // the other points would give the same errors
        // Every point as written must keep at least one place.
        for (const Expander::Resolved* first : first_left_out_)
            if (!built_.contains(first->expansion)) {
                handlers_.build_handler(probe_, file_, *first); // reports why
                return;
            }
        if (!left_out_.empty())
            handlers_.warn_of_left_out(probe_, left_out_, points_.size() - left_out_.size());
        separate_few();
    }

  private:
    // Adds a point to a handler. Returns false after reporting an error.
    bool add(Expander::Resolved& resolved) {
        auto [entry, fresh] = point_uses_.try_emplace(resolved.expansion);
        if (fresh)
            entry->second = handlers_.point_uses_of(*resolved.expansion, probe_, file_);
        const PointUses& uses = entry->second;
        if (!suit(resolved, uses))
            return true;
        if (const std::optional<PythonPoint>& python = resolved.point.python)
            resolved.point.point.meant =
                fmt::format("{} of `{}` in `{}`{}", name_of(python->event), python->function, python->file,
                            resolved.expansion->conditions.empty() ? "" : " with a true condition");
        const ResolvedPoint& point = resolved.point;
        const SharingKey key = key_of(resolved, uses);
        // A call can be a value of the event, as in `cpu()`, so a body for recorded events depends on the point.
        if (!uses.point && !point.recorded && point.callers.empty() && point.repeats.empty()) {
            hir::Handler*& shared = by_code_[{key, code_of(*resolved.expansion)}];
            if (!shared) {
                shared = handlers_.build_handler(probe_, file_, resolved);
                keep(*shared);
            }
            shared->points.push_back(point.point);
            return true;
        }
        const size_t errors = in_.context.diags.error_count();
        std::string why;
        hir::Handler* handler = points_.size() > 1 ? handlers_.try_handler(probe_, file_, resolved, why)
                                                   : handlers_.build_handler(probe_, file_, resolved);
        if (in_.context.diags.error_count() > errors)
            return false;
        if (!handler) {
            left_out_.emplace_back(place_of(point), why);
            if (std::ranges::none_of(first_left_out_, [&](const Expander::Resolved* first) {
                    return first->expansion == resolved.expansion;
                }))
                first_left_out_.push_back(&resolved);
            return true;
        }
        built_.insert(resolved.expansion);
        if (is_never(point.kind)) {
            keep(*handler);
            return true;
        }
        handlers_.keep_arrival_notes(probe_, file_, resolved, *handler, notes_);
        hir::Handler& shared = share(*handler, key, point);
        if (point.is_among_many)
            add_among_many(shared, resolved, key);
        return true;
    }

    // Moves the point to where the handler gets what it needs. Returns false if the point is not used.
    bool suit(Expander::Resolved& resolved, const PointUses& uses) {
        ResolvedPoint& point = resolved.point;
        point.is_among_many = has_many_ && point.syscall;
        if (points_.size() > 1 && is_beside(point)) {
            std::set<std::string> asked_for;
            add_asked_for(*probe_.body, asked_for);
            if (needs_variables(uses.targets, asked_for))
                return false;
        }
        // Before the prologue, parameters may be in registers. A register has no address, and a handler cannot write to
        // it. So move the probe there only if the handler does neither.
        if (!uses.writes && !uses.address)
            place_cheaply(point, uses.targets);
        else
            keep_result_known(point, uses.targets);
        keep_readable_calls(point, uses.targets);
        if (uses.registers)
            keep_registers(point, in_.context.env);
        return !uses.sets_result || run_in_place(point, in_.context.env, in_.context.diags, uses.sets_result->range);
    }

    SharingKey key_of(const Expander::Resolved& resolved, const PointUses& uses) {
        const ResolvedPoint& point = resolved.point;
        return {.kind = point.kind,
                .in_kernel = point.in_kernel,
                .is_go = point.is_go,
                .at_return_instruction = point.at_return_instruction,
                .checks_stack = point.is_function && point.function.checks_stack,
                .is_syscall = point.syscall != nullptr,
                .is_exit = point.is_exit,
                .after_call = point.after_call,
                .lacks_result = point.leaves_by_jump && uses.result,
                .order = point.order,
                .interval_ns = point.timer.interval_ns,
                .random_ns = point.timer.random_ns,
                .jump_condition = point.jump_condition,
                .conditions = conditions_of(*resolved.expansion),
                .only = point.sharing.only,
                .repetition = point.sharing.once.empty() ? 0 : met_[point.sharing.once]++};
    }

    void keep(hir::Handler& handler) {
        if (is_never(handler.kind))
            in_.tables.never_handlers.push_back(&handler);
        else
            handlers_.keep_handler(handler);
    }

    // Adds the point to the handler, or to the one with equal HIR that exists already. Returns which.
    hir::Handler& share(hir::Handler& handler, const SharingKey& key, const ResolvedPoint& point) {
        hir::Handler*& shared = by_body_[{key, hir::identity(handler)}];
        if (!shared) {
            shared = &handler;
            handlers_.keep_handler(handler);
        }
        shared->needs_same_types |= handler.needs_same_types;
        shared->points.push_back(point.point);
        return *shared;
    }

    void add_among_many(hir::Handler& handler, Expander::Resolved& resolved, const SharingKey& key) {
        auto found = std::ranges::find(among_many_, &handler, &AmongMany::handler);
        if (found == among_many_.end())
            found = among_many_.insert(found, AmongMany{&handler, {}});
        found->points.emplace_back(&resolved, key);
    }

    // The verifier checks the routine for many calls again in every handler that contains it. For only a few calls,
    // separate code is cheaper.
    void separate_few() {
        constexpr size_t few = 8;
        for (auto& [handler, built] : among_many_) {
            if (built.size() > few || !has_point_number(*handler))
                continue;
            handler->points.clear();
            for (auto& [resolved, key] : built) {
                resolved->point.is_among_many = false;
                share(*handlers_.build_handler(probe_, file_, *resolved), key, resolved->point);
            }
        }
        std::erase_if(in_.program.handlers, [&](const hir::Handler* handler) {
            return handler->points.empty() &&
                   std::ranges::find(among_many_, handler, &AmongMany::handler) != among_many_.end();
        });
    }

    Handlers& handlers_;
    Building& in_;
    const ast::Probe& probe_;
    FileId file_;
    std::vector<Expander::Resolved>& points_;
    bool has_many_ = false;
    std::map<const Expansion*, PointUses> point_uses_;
    std::map<std::string, int> met_; // by Sharing::once: number of points so far
    // By key, and the text of the code or its HIR.
    std::map<std::pair<SharingKey, std::string>, hir::Handler*> by_code_, by_body_;
    std::map<std::string, hir::Handler*> notes_; // of arrivals
    // A handler of some of many system calls, and its points.
    struct AmongMany {
        hir::Handler* handler;
        std::vector<std::pair<Expander::Resolved*, SharingKey>> points;
    };
    // This and first_left_out_ are in the order of the script. In a map by address, the order of handlers and messages
    // would depend on the memory allocator.
    std::vector<AmongMany> among_many_;
    std::set<const Expansion*> built_;
    std::vector<std::pair<std::string, std::string>> left_out_; // places, with the reasons
    // For each point as written, the first place that was left out.
    std::vector<const Expander::Resolved*> first_left_out_;
};

// Builds the handlers at calls that store the values of `@entry` (python_points.h).
void Handlers::build_python_entries(const ast::Probe& probe, FileId file) {
    Building& in = in_;
    std::vector<std::pair<const ast::EntryExpr*, hir::Global*>> values;
    std::vector<PythonEntries::Calls> calls;
    for (auto& [expr, entry] : in.tables.python_entries.all) {
        if (entry.is_built)
            continue;
        entry.is_built = true;
        values.emplace_back(expr, entry.values);
        for (const PythonEntries::Calls& one : entry.calls)
            if (std::ranges::find(calls, one) == calls.end())
                calls.push_back(one);
    }
    const std::vector<hir::Global*>& order = in.tables.python_entries.globals;
    std::ranges::sort(values, {}, [&](const auto& one) { return std::ranges::find(order, one.second); });
    for (const PythonEntries::Calls& points : calls)
        for (const ResolvedPoint& point : *points) {
            auto* handler = in.context.arena.make<hir::Handler>();
            handler->range = probe.range;
            handler->kind = point.kind;
            handler->in_kernel = point.in_kernel;
            handler->body = in.context.arena.make<hir::Block>(probe.range);
            handler->points = {point.point};
            in.tables.heads[handler] = probe.points[0]->range;
            Body body(in, file, handler->locals, point, *handler, *probe.body);
            Binder binder = make_binder(body, probe.points[0]->range);
            handler->condition = build_python_condition(body, binder, probe.points[0]->range);
            for (auto [expr, global] : values) {
                hir::Expr* to = python_value(body, binder, global, expr->range);
                auto* put = body.make<hir::Assign>(expr->range, to, build_expr(body, *expr->operand));
                put->value_unused = true;
                handler->body->body.push_back(body.make<hir::ExprStmt>(expr->range, put));
            }
            keep_handler(*handler);
        }
}

void Handlers::build_probe(const ast::Probe& probe, FileId file) {
    std::vector<Expander::Resolved> points = expander_.resolve(probe.points, file);
    if (!keep_known_results(probe, file, points))
        return;
    OneProbe(*this, probe, file, points).build();
    build_python_entries(probe, file);
    for (size_t i = 0; i < in_.program.handlers.size(); i++)
        in_.program.handlers[i]->name = handler_name(i);
}

} // namespace sonde
