// Statements.
//
// Loops are the difficult ones. The verifier follows every path through a program until it meets a state that it has
// seen before. If a loop's variable has another value in each round, no state is ever the same. Then the verifier would
// check each round on its own, and give up after a million instructions. To prevent this, begin_iteration() adds an
// unknown zero to each number that the loop changes. The verifier then knows nothing about the number, and the second
// round looks like the first one.
//
// Each round also subtracts the number of its statements from the budget of the hit (MAXACTION, spend()). So every loop
// ends at run time, whatever its condition is.
#include "codegen/lower/stmt.h"

#include <llvm/ADT/SetVector.h>

#include "codegen/emit/texts.h"
#include "codegen/lower/array.h"
#include "codegen/lower/constant_texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/recursion.h"
#include "codegen/lower/strings.h"
#include "frontend/hir/walk.h"

namespace sonde {

using hir::ValueType;

namespace {

uint64_t count_statements(const hir::Stmt* body) {
    uint64_t count = 0;
    if (body)
        for_each_stmt(*body, [&](const hir::Stmt& stmt) { count += stmt.kind != hir::StmtKind::Block; });
    return count + 1;
}

// Begins an iteration at the head of a loop. Makes the variables that the loop changes unknown to the verifier, so that
// it checks the body only once.
void begin_iteration(Lowerer& l, const hir::Stmt& loop, llvm::BasicBlock* limit, llvm::Value* counter = nullptr) {
    Emitter& e = l.e;
    if (llvm::Value* zero = l.target.programs().unknown_zero(l.env)) {
        llvm::SetVector<llvm::Value*> changed;
        if (counter)
            changed.insert(counter);
        for_each_expr(loop, [&](const hir::Expr& expr) {
            if (expr.kind != hir::ExprKind::Assign || expr.type != ValueType::Long)
                return;
            const hir::Expr& target = *hir::as<hir::Assign>(expr).target;
            if (target.kind == hir::ExprKind::LocalRef)
                changed.insert(l.locals[hir::as<hir::LocalRef>(target).local]);
        });
        for (llvm::Value* variable : changed)
            e.CreateStore(e.CreateAdd(e.CreateLoad(e.i64(), variable), zero), variable);
    }
    if (!begin_machine_round(l, loop))
        l.target.programs().loop_head(limit);
}

// The blocks of `for (init; condition; step) body`:
//
//     head    begin_iteration(), MAXACTION, the condition
//     body    the statements; `break` goes to `end`
//     next    the step; `continue` goes here
//     limit   the target's own limit of iterations is reached: an error
//     end
void lower_loop(Lowerer& l, const hir::Loop& loop) {
    Emitter& e = l.e;
    // Counts the loop and its initialization. In loops and functions, the surrounding body counts these.
    if (l.loops.empty() && !l.function)
        spend(l, loop.init ? 2 : 1, loop.range);
    if (loop.init) {
        Mark mark(l);
        lower(l, *loop.init);
    }
    llvm::BasicBlock *head = e.block("head"), *body = e.block("body"), *next = e.block("next"),
                     *end = e.block("endloop"), *limit = e.block("limit");
    l.branch_to(head);
    e.SetInsertPoint(head);
    begin_iteration(l, loop, limit);
    spend(l, count_statements(loop.body), loop.range);
    if (loop.condition)
        e.CreateCondBr(truth(l, *loop.condition), body, end);
    else
        e.CreateBr(body);
    e.SetInsertPoint(body);
    l.loops.push_back({next, end});
    if (loop.body)
        lower(l, *loop.body);
    l.loops.pop_back();
    l.branch_to(next);
    e.SetInsertPoint(next);
    if (loop.step) {
        Mark mark(l);
        lower(l, *loop.step);
    }
    e.CreateBr(head);
    e.SetInsertPoint(limit);
    raise(l, plan::ErrorId::ActionsSpent, loop.range);
    e.SetInsertPoint(end);
}

void lower_foreach(Lowerer& l, const hir::Foreach& loop) {
    Emitter& e = l.e;
    uint64_t value_size = loop.array->type == ValueType::String ? e.slot_size() : 8;
    ForeachSpec spec{&loop, nullptr, nullptr, 0, nullptr, nullptr};
    uint64_t scan_before = l.scan.next;
    if (uint64_t bytes = l.target.arrays().scan_bytes(loop))
        spec.area = e.offset(l.env.scan, l.scan.take(bytes));
    // The limit first, because it may compose keys in the memory that the slice will use.
    if (loop.limit)
        spec.limit = lower(l, *loop.limit);
    if (!loop.slice.empty())
        spec.slice_key = compose_key(l, *loop.array, loop.slice, &spec.slice_mask);
    llvm::Value* iterator = l.target.arrays().foreach_begin(l.env, spec);
    const plan::Global& array = e.state().plan.globals[loop.array->index];
    llvm::Value* key = l.new_bytes(array.key_size + l.max_string());
    llvm::Value* value = loop.value ? l.new_bytes(value_size) : nullptr;
    llvm::BasicBlock *head = e.block("head"), *body = e.block("body"), *end = e.block("endloop"),
                     *limit = e.block("limit");
    e.CreateBr(head);
    e.SetInsertPoint(head);
    spec.again = head;
    begin_iteration(l, loop, limit);
    e.CreateCondBr(l.target.arrays().foreach_next(l.env, spec, iterator, key, value), body, end);
    e.SetInsertPoint(body);
    for (size_t i = 0; i < loop.keys.size(); i++) {
        llvm::Value* variable = l.locals[loop.keys[i]];
        if (loop.array->keys[i] == ValueType::String)
            store_string(l, variable, e.offset(key, array.keys[i].offset));
        else if (loop.keys[i]->type == ValueType::String)
            store_string(l, variable, numbered_text(e, key_number(l, key, array.keys[i])));
        else
            e.CreateStore(key_number(l, key, array.keys[i]), variable);
    }
    if (value && loop.array->type == ValueType::String)
        store_string(l, l.locals[loop.value], value);
    else if (value)
        e.CreateStore(e.CreateLoad(e.i64(), value), l.locals[loop.value]);
    // An error or `next` in the body skips foreach_end(); the session frees the iterator when the handler ends.
    spend(l, count_statements(loop.body), loop.range);
    l.loops.push_back({head, end});
    lower(l, *loop.body);
    l.loops.pop_back();
    l.branch_to(head);
    e.SetInsertPoint(limit);
    raise(l, plan::ErrorId::ActionsSpent, loop.range);
    e.SetInsertPoint(end);
    l.target.arrays().foreach_end(l.env, iterator);
    l.scan.next = scan_before;
}

// foreach (n = b in @hist_log(x)): visits every bucket, including empty ones, ordered by number or by count.
void lower_buckets(Lowerer& l, const hir::Foreach& loop) {
    Emitter& e = l.e;
    const hir::Global& global = global_of_statistic(*loop.histogram);
    const auto buckets = static_cast<int64_t>(global.stats.buckets());
    const bool by_count = loop.sort_direction != 0 && loop.sort_column == 0;
    llvm::Value* limit_value = e.number(buckets);
    if (loop.limit) {
        llvm::Value* wanted = lower(l, *loop.limit);
        limit_value = e.CreateSelect(e.CreateICmpSLT(wanted, limit_value), wanted, limit_value);
    }
    llvm::Value* stats = stats_pointer(l, *loop.histogram);
    raise_if_empty(l, stats, loop.histogram->range);
    if (l.machine || by_count) { // a machine keeps no addresses of elements; sorting needs counts that do not change
        auto size = static_cast<uint32_t>(plan::stats_bytes(global.stats));
        llvm::Value* copy = l.new_bytes(size);
        l.target.memory().read(l.env, copy, size, stats, false);
        stats = copy;
    }
    llvm::Value* counts = e.offset(stats, sizeof(plan::StatsBlock));
    // The number of visited buckets, and the last bucket's number plus 1.
    llvm::Value *turn = e.stack(8), *before = e.stack(8), *most = e.stack(8);
    for (llvm::Value* variable : {turn, before})
        e.CreateStore(e.number(0), variable);
    e.CreateStore(limit_value, most);
    llvm::BasicBlock *head = e.block("head"), *some = e.block("some"), *body = e.block("body"), *next = e.block("next"),
                     *end = e.block("endloop"), *limit = e.block("limit");
    e.CreateBr(head);
    e.SetInsertPoint(head);
    begin_iteration(l, loop, limit, turn);
    llvm::Value* i = e.CreateLoad(e.i64(), turn);
    e.CreateCondBr(e.CreateICmpSLT(i, e.CreateLoad(e.i64(), most)), some, end);
    e.SetInsertPoint(some);
    llvm::Value* bucket = loop.sort_column == 1 && loop.sort_direction < 0 ? e.CreateSub(e.number(buckets - 1), i) : i;
    if (by_count) {
        Mark mark(l);
        bucket = e.routine("sonde_rt_next_bucket", e.i64(),
                           {number_of(l, counts, l.new_slot()), e.number(buckets), e.CreateLoad(e.i64(), before),
                            e.number(loop.sort_direction)});
        e.CreateStore(e.CreateAdd(bucket, e.number(1)), before);
    }
    bucket = e.opaque(bucket);
    e.CreateCondBr(e.CreateICmpULT(bucket, e.number(buckets)), body, end);
    e.SetInsertPoint(body);
    e.CreateStore(bucket, l.locals[loop.keys[0]]);
    if (loop.value)
        e.CreateStore(e.CreateLoad(e.i64(), e.CreateGEP(e.i64(), counts, bucket)), l.locals[loop.value]);
    spend(l, count_statements(loop.body), loop.range);
    l.loops.push_back({next, end});
    lower(l, *loop.body);
    l.loops.pop_back();
    l.branch_to(next);
    e.SetInsertPoint(next);
    e.CreateStore(e.CreateAdd(e.CreateLoad(e.i64(), turn), e.number(1)), turn);
    e.CreateBr(head);
    e.SetInsertPoint(limit);
    e.CreateBr(end);
    e.SetInsertPoint(end);
}

void lower_delete(Lowerer& l, const hir::Delete& stmt) {
    Emitter& e = l.e;
    const hir::Global& global = *stmt.global;
    if (global.is_array()) {
        if (stmt.keys.empty()) {
            l.target.arrays().erase(l.env, global, nullptr, 0, true);
            return;
        }
        uint64_t mask = 0;
        llvm::Value* key = compose_key(l, global, stmt.keys, &mask);
        l.target.arrays().erase(l.env, global, key, mask, false);
        return;
    }
    llvm::Value* address = global_address(l, global);
    if (global.type == ValueType::String) {
        e.CreateStore(e.getInt8(0), address);
        return;
    }
    if (global.type == ValueType::Long) {
        e.CreateStore(e.number(0), address);
        return;
    }
    auto size = static_cast<uint32_t>(plan::stats_bytes(global.stats));
    l.target.memory().read(l.env, address, size, e.zeros(size), false);
}

// While the body is lowered, errors lead to `catch`. An error past catching, such as a spent MAXACTION, goes on to the
// handler around this one. Otherwise `try` in a loop could keep a handler running forever.
void lower_try(Lowerer& l, const hir::Try& stmt) {
    Emitter& e = l.e;
    llvm::BasicBlock *caught = e.block("catch"), *end = e.block("endtry");
    llvm::BasicBlock* outer = l.on_error;
    l.on_error = caught;
    if (stmt.body)
        lower(l, *stmt.body);
    l.on_error = outer;
    l.branch_to(end);
    e.SetInsertPoint(caught);
    llvm::BasicBlock* handle = e.block("handle");
    e.CreateCondBr(is_past_catching(l), outer, handle);
    e.SetInsertPoint(handle);
    if (stmt.message) {
        // error("text") has stored its text. Other errors have their site's message, some with an address.
        llvm::Value* slot = l.locals[stmt.message];
        llvm::BasicBlock *own = e.block("text"), *standard = e.block("standard"), *with = e.block("argument"),
                         *done = e.block("message");
        e.CreateCondBr(has_error_text(l), own, standard);
        e.SetInsertPoint(own);
        store_string(l, slot, l.env.error_text);
        e.CreateBr(done);
        e.SetInsertPoint(standard);
        llvm::Value* error = e.CreateLoad(e.i64(), l.env.error);
        llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {slot, site_message(e, error)});
        llvm::Value* argument = e.CreateLoad(e.i64(), error_argument(e, l.env));
        e.CreateCondBr(e.CreateICmpNE(e.CreateAnd(error, e.number(with_argument)), e.number(0)), with, done);
        e.SetInsertPoint(with);
        e.routine("sonde_rt_append_long", e.i64(), {slot, length, argument, e.number('x' | '#' << 8)});
        e.CreateBr(done);
        e.SetInsertPoint(done);
    }
    if (stmt.handler)
        lower(l, *stmt.handler);
    l.branch_to(end);
    e.SetInsertPoint(end);
}

} // namespace

void lower(Lowerer& l, const hir::Stmt& stmt) {
    Emitter& e = l.e;
    using namespace hir;
    if (e.GetInsertBlock()->getTerminator())
        e.SetInsertPoint(e.block("unreached"));
    e.lines().locate(stmt.range);
    Mark mark(l);
    switch (stmt.kind) {
    case StmtKind::Block:
        for (const Stmt* s : as<Block>(stmt).body)
            lower(l, *s);
        break;
    case StmtKind::Expression:
        lower(l, *as<ExprStmt>(stmt).expr);
        break;
    case StmtKind::If: {
        const auto& s = as<If>(stmt);
        llvm::BasicBlock *yes = e.block("then"), *no = e.block("else"), *end = e.block("endif");
        e.CreateCondBr(truth(l, *s.condition), yes, no);
        e.SetInsertPoint(yes);
        lower(l, *s.then_body);
        l.branch_to(end);
        e.SetInsertPoint(no);
        if (s.else_body)
            lower(l, *s.else_body);
        l.branch_to(end);
        e.SetInsertPoint(end);
        break;
    }
    case StmtKind::Loop:
        lower_loop(l, as<hir::Loop>(stmt));
        break;
    case StmtKind::Foreach:
        if (as<Foreach>(stmt).histogram)
            lower_buckets(l, as<Foreach>(stmt));
        else
            lower_foreach(l, as<Foreach>(stmt));
        break;
    case StmtKind::Break:
        e.CreateBr(l.loops.back().end);
        break;
    case StmtKind::Continue:
        e.CreateBr(l.loops.back().next);
        break;
    case StmtKind::Next:
        e.CreateBr(l.leave);
        break;
    case StmtKind::Return: {
        const auto& s = as<Return>(stmt);
        if (s.value && l.function && l.function->result == ValueType::String && !l.machine)
            lower_into(l, *s.value, l.result);
        else if (s.value && l.function && l.function->result == ValueType::String)
            store_string(l, l.result, lower(l, *s.value)); // the expression may call this function
        else if (s.value)
            e.CreateStore(lower(l, *s.value), l.result);
        e.CreateBr(l.leave);
        break;
    }
    case StmtKind::Delete:
        lower_delete(l, as<Delete>(stmt));
        break;
    case StmtKind::Try:
        lower_try(l, as<Try>(stmt));
        break;
    }
}

} // namespace sonde
