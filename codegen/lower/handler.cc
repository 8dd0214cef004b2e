// Lowers handlers, and the programs that save values for them at a function's entry.
//
// A handler becomes one function. Its blocks, in the order of execution:
//
//     begin     checks of the target (HandlerPrograms::begin), memory, empty error, MAXACTION
//     body      the conditions of the point, then the statements
//     failed    an error leaves the body to here: report it
//     end       send collected records, release memory, return the decision
//
// `next` goes to `end`, an error goes to `failed`. abort() also goes to `failed`, with a site that is not reported.
//
// A `.return` handler with values from the entry is lowered twice: first its body, then the entry's program. On kernels
// with session links, both become parts of one program (join_legs()).
//
// What would break this: a function that was lowered for another kind of handler. Functions are inlined, and contain
// decisions that depend on the kind, such as the way to read an argument. So the cache of lowered functions is cleared
// when the next handler has another kind.
#include <cstddef>
#include <utility>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lower.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/needs.h"
#include "codegen/lower/print.h"
#include "codegen/lower/prologue.h"
#include "codegen/lower/record_count.h"
#include "codegen/lower/regex.h"
#include "codegen/lower/stacks.h"
#include "codegen/lower/stmt.h"
#include "codegen/lower/strings.h"
#include "runtime/plan/counts.h"
#include "runtime/plan/kinds.h"

namespace sonde {

using hir::ValueType;

namespace {

// Allocates the words for errors and MAXACTION.
void begin_environment(Lowerer& l, const Needs& need) {
    Emitter& e = l.e;
    const uint64_t bytes = environment_bytes(l) + e.slot_size() + (l.gathers ? l.target.output().batch_bytes() : 0);
    place_environment(l, need.frame ? l.new_bytes(bytes) : e.stack(environment_bytes(l)), need.frame);
    if (l.env.batch)
        l.target.output().begin_batch(l.env);
    // Initialized, because the verifier also considers paths to the handler's end without an error.
    set_error(l, e.number(0), nullptr);
    if (l.env.outcome)
        e.CreateStore(e.number(plan::Handled), l.env.outcome);
    // Handlers that decide nothing accept packets and grant what a security hook asks.
    if (l.handler && plan::decides(l.handler->kind))
        e.CreateStore(e.number(plan::traits(l.handler->kind).decision == plan::Decision::Verdict),
                      decision_place(e, l.env));
    // The number is loaded: the verifier unrolls loops with a known count.
    e.CreateStore(e.CreateLoad(e.i64(), e.offset(l.env.data, offsetof(plan::SessionWords, max_action))), l.env.budget);
    if (need.frame)
        e.CreateStore(e.getInt8(0), l.env.error_text);
}

// Emits a handler's program up to its body. The body continues at BodyState::leave or BodyState::on_error. `at_entry`:
// this is the program at the function's entry, for a return probe.
void begin_program(Lowerer& l, const hir::Handler& handler, const std::string& symbol, uint32_t probe,
                   const Needs& need, bool at_entry) {
    Emitter& e = l.e;
    l.target.programs().begin(handler, symbol, probe, need, l.env);
    l.data = l.env.data;
    l.env.has_frame = need.frame;
    e.lines().describe(e.GetInsertBlock()->getParent(), handler.range);
    e.lines().locate(handler.range);
    l.on_error = e.block("failed");
    l.leave = e.block("end");
    begin_environment(l, need);
    if (need.tokens) {
        l.env.tokens = l.new_bytes(8 + e.slot_size());
        e.CreateStore(e.number(0), l.env.tokens);
        e.CreateStore(e.getInt8(0), e.offset(l.env.tokens, 8));
    }
    if (need.matches)
        begin_matches(l);
    if (need.stacks)
        begin_stacks(l, at_entry);
}

void end_program(Lowerer& l) {
    l.branch_to(l.leave);
    l.e.SetInsertPoint(l.on_error);
    if (l.env.batch)
        l.target.output().send_batch(l.env); // output comes before the message
    if (llvm::Value* told = l.target.programs().has_failed_before()) {
        llvm::BasicBlock* report = l.e.block("first_error");
        l.e.CreateCondBr(told, l.leave, report);
        l.e.SetInsertPoint(report);
    }
    report_error(l);
    l.branch_to(l.leave);
    l.e.SetInsertPoint(l.leave);
    if (l.env.batch)
        l.target.output().send_batch(l.env);
    l.target.programs().end(l.env);
    l.target.programs().need_frame(l.frame.most);
    l.target.programs().need_scan(l.scan.most);
}

// Emits the conditions under which the handler continues.
void require(Lowerer& l, const std::vector<Requirement>& requirements) {
    Emitter& e = l.e;
    if (requirements.empty())
        return;
    // A condition that raises an error counts as false, and the error is not reported.
    llvm::BasicBlock *outer = l.on_error, *unknown = e.block("unknown");
    l.on_error = unknown;
    for (const auto& [condition, negated] : requirements) {
        llvm::BasicBlock* run = e.block("run");
        llvm::Value* holds = truth(l, *condition);
        e.CreateCondBr(holds, negated ? l.leave : run, negated ? run : l.leave);
        e.SetInsertPoint(run);
    }
    l.on_error = outer;
    llvm::BasicBlock* run = e.GetInsertBlock();
    e.SetInsertPoint(unknown);
    e.CreateStore(e.number(0), l.env.error);
    e.CreateBr(l.leave);
    e.SetInsertPoint(run);
}

// Emits the program that saves the values that the .return handler needs.
void lower_entry_program(Lowerer& l, const hir::Handler& handler, const SessionSplit& split, uint32_t probe) {
    Emitter& e = l.e;
    l.env = {};
    l.locals.clear();
    l.frame = {};
    if (l.at_exit)
        l.functions.clear();
    l.at_exit = false;
    std::vector<const hir::Expr*> all(handler.entry_values.begin(), handler.entry_values.end());
    for (const Requirement& requirement : split.at_entry)
        all.push_back(requirement.condition);
    Needs need = needs_at_entry(all, e.state());
    need.frame = need.frame || l.gathers;
    begin_program(l, handler, handler.name + "_entry", probe, need, true);
    llvm::Value* buffer = nullptr;
    if (need.frame)
        buffer = l.new_bytes(e.state().entry_size(handler) + l.max_string());
    else
        buffer = e.stack(e.state().entry_size(handler));
    for (size_t i = 0; i < handler.entry_values.size(); i++) {
        const hir::Expr& value = *handler.entry_values[i];
        llvm::Value* at = e.offset(buffer, e.state().entry_offset(handler, i));
        Mark mark(l);
        if (value.type == ValueType::String)
            store_string(l, at, lower(l, value));
        else
            e.CreateStore(lower(l, value), at);
    }
    l.target.entry_values().are_at(buffer);
    require(l, split.at_entry);
    bool in_map = !e.state().plan.probes[probe].entry_map.empty();
    llvm::Value* place = in_map && handler.entry_stack ? lower(l, *handler.entry_stack) : nullptr;
    l.target.entry_values().save(l.env, handler, buffer, place);
    end_program(l);
}

Result<void> lower_handler(Lowerer& l, const hir::Handler& handler, uint32_t probe) {
    Emitter& e = l.e;
    // Functions depend on the handler that they are inlined into.
    const bool gathers = e.in_kernel() && sends_several_records(handler);
    const bool at_exit = handler.at_return && !handler.after_call;
    if (e.in_kernel() && l.handler && (l.handler->kind != handler.kind || gathers != l.gathers || at_exit != l.at_exit))
        l.functions.clear();
    const auto is_recorded = [](const hir::Handler& one) {
        return plan::traits(one.kind).cause == plan::Cause::Recorded;
    };
    if (!e.in_kernel() && l.root && is_recorded(*l.root) != is_recorded(handler))
        l.functions.clear();
    l.handler = l.root = &handler;
    l.gathers = gathers;
    l.at_exit = at_exit;
    l.function = nullptr;
    l.env = {};
    l.locals.clear();
    Needs need = needs_of(handler, e.state(), e.in_kernel());
    const bool tells_hit = e.in_kernel() && e.state().translate.tells_hits && plan::tells_hits(handler.kind);
    need.frame = need.frame || gathers || tells_hit;
    plan::Probe& out = e.state().plan.probes[probe];
    SessionSplit split = split_for_session(handler, out, e.state(), need.counter);
    out.is_session = split.wanted;
    if (!handler.entry_values.empty() && !split.wanted)
        out.entry_program = handler.name + "_entry";
    if (split.wanted ? split.in_map : !handler.entry_values.empty())
        out.entry_map = handler.name + "_saved";
    l.target.programs().use_session(split);
    l.frame = l.scan = {};
    constexpr uint64_t most_on_stack = 64; // bytes
    const uint64_t saved = out.entry_map.empty() ? 0 : e.state().entry_size(handler);
    need.frame = need.frame || saved > most_on_stack;
    begin_program(l, handler, handler.name, probe, need, false);
    if (saved)
        l.target.entry_values().take(
            handler, saved > most_on_stack ? l.new_bytes(saved + l.max_string()) : e.stack(saved), l.leave);
    begin_locals(l, handler.locals);
    require(l, split.at_return);
    out.has_condition = handler.condition != nullptr;
    if (out.has_condition && !split.wanted)
        l.target.programs().condition_held(l.env);
    if (tells_hit)
        send_hit(l);
    for (const hir::Stmt* stmt : split.body)
        lower(l, *stmt);
    end_program(l);
    out.frame_size = static_cast<uint32_t>(l.frame.most);
    if (!handler.entry_values.empty() || split.wanted)
        lower_entry_program(l, handler, split, probe);
    if (split.wanted)
        l.target.programs().join_legs(handler);
    if (!l.problem.empty())
        return Error(l.problem);
    return {};
}

} // namespace

Result<void> lower_handlers(Emitter& emitter, Target& target) {
    Lowerer lowerer(emitter, target);
    const hir::Program& program = emitter.state().program;
    for (size_t i = 0; i < program.handlers.size(); i++) {
        if (program.handlers[i]->in_kernel != emitter.in_kernel())
            continue;
        Result<void> done = lower_handler(lowerer, *program.handlers[i], static_cast<uint32_t>(i));
        if (!done)
            return done;
    }
    return {};
}

} // namespace sonde
