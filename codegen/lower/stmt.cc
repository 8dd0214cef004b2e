// Statements and errors.
#include <cstddef>
#include <iterator>

#include <llvm/ADT/SetVector.h>

#include "codegen/lower/lower.h"
#include "codegen/texts.h"
#include "frontend/hir/walk.h"

namespace sonde {

using hir::ValueType;

// ---- errors -----------------------------------------------------------------------------------------------------

void Lowering::raise(const std::string& message, Range range, llvm::Value* argument) {
    int64_t site = e_.state().add_site(message, range);
    if (message == plan::no_actions_left)
        site |= past_catching;
    set_error(e_.number(argument ? site | with_argument : site), argument);
    e_.CreateBr(catch_);
}

void Lowering::raise_text(llvm::Value* text, Range range) {
    store_string(env_.error_text, text);
    set_error(e_.number(e_.state().add_site("%s", range) | with_text), nullptr);
    e_.CreateBr(catch_);
}

void Lowering::set_error(llvm::Value* site, llvm::Value* argument) {
    e_.CreateStore(site, env_.error);
    e_.CreateStore(argument ? argument : e_.number(0), error_argument(e_, env_));
    for (size_t i = 0; i < std::size(plan::ErrorDetails{}.calls); i++)
        e_.CreateStore(e_.number(0), error_details(e_, env_, offsetof(plan::ErrorDetails, calls) + 8 * i));
}

void Lowering::check_call(const hir::Call& expr, llvm::Value* status) {
    llvm::BasicBlock *good = e_.block("returned"), *failed = expr.callee->bounded ? catch_ : e_.block("failed_call");
    e_.CreateCondBr(e_.CreateICmpEQ(status, e_.number(0)), good, failed);
    if (!expr.callee->bounded) { // what sonde has made itself is no call that anybody wrote
        e_.SetInsertPoint(failed);
        llvm::Value* low = e_.number(e_.state().add_call(expr.callee->name, expr.range));
        for (size_t i = 0; i < std::size(plan::ErrorDetails{}.calls); i++) {
            llvm::Value* place = error_details(e_, env_, offsetof(plan::ErrorDetails, calls) + 8 * i);
            llvm::Value* old = e_.CreateLoad(e_.i64(), place);
            e_.CreateStore(e_.CreateOr(e_.CreateShl(old, plan::call_bits), low), place);
            low = e_.CreateLShr(old, 64 - plan::call_bits);
        }
        e_.CreateBr(catch_);
    }
    e_.SetInsertPoint(good);
}

void Lowering::raise_if(llvm::Value* condition, const std::string& message, Range range, llvm::Value* argument) {
    llvm::BasicBlock *bad = e_.block("bad"), *good = e_.block("good");
    e_.CreateCondBr(condition, bad, good);
    e_.SetInsertPoint(bad);
    raise(message, range, argument);
    e_.SetInsertPoint(good);
}

llvm::Value* Lowering::is_aborted() {
    return e_.CreateICmpEQ(e_.CreateLoad(e_.i64(), env_.error), e_.number(abort_site));
}

llvm::Value* Lowering::is_past_catching() {
    llvm::Value* bit = e_.CreateAnd(e_.CreateLoad(e_.i64(), env_.error), e_.number(past_catching));
    return e_.CreateICmpNE(bit, e_.number(0));
}

llvm::Value* Lowering::has_error_text() {
    llvm::Value* bit = e_.CreateAnd(e_.CreateLoad(e_.i64(), env_.error), e_.number(with_text));
    return e_.CreateICmpNE(bit, e_.number(0));
}

// Counts statements against MAXACTION: once an iteration or call, for all that it contains.
void Lowering::spend(uint64_t statements, Range range) {
    if (function_ && function_->bounded)
        return;
    llvm::Value* left = e_.CreateSub(e_.CreateLoad(e_.i64(), env_.budget), e_.number(static_cast<int64_t>(statements)));
    e_.CreateStore(left, env_.budget);
    llvm::Value* least = e_.number(0);
    if (!e_.in_kernel()) // volatile: another thread sets it (runtime/interrupter.h)
        least = e_.CreateLoad(e_.i64(), e_.offset(env_.data, offsetof(plan::SessionWords, least_action)), true);
    raise_if(e_.CreateICmpSLT(left, least), plan::no_actions_left, range);
}

// ---- statements -------------------------------------------------------------------------------------------------

namespace {
uint64_t count_statements(const hir::Stmt* body) {
    uint64_t count = 0;
    if (body)
        for_each_stmt(*body, [&](const hir::Stmt& stmt) { count += stmt.kind != hir::StmtKind::Block; });
    return count + 1;
}
} // namespace

void Lowering::lower(const hir::Stmt& stmt) {
    using namespace hir;
    if (e_.GetInsertBlock()->getTerminator())
        e_.SetInsertPoint(e_.block("unreached"));
    e_.lines().locate(stmt.range);
    Mark mark(*this);
    switch (stmt.kind) {
    case StmtKind::Block:
        for (const Stmt* s : as<Block>(stmt).body)
            lower(*s);
        break;
    case StmtKind::Expression:
        lower(*as<ExprStmt>(stmt).expr);
        break;
    case StmtKind::If: {
        const auto& s = as<If>(stmt);
        llvm::BasicBlock *yes = e_.block("then"), *no = e_.block("else"), *end = e_.block("endif");
        e_.CreateCondBr(truth(*s.condition), yes, no);
        e_.SetInsertPoint(yes);
        lower(*s.then_body);
        branch_to(end);
        e_.SetInsertPoint(no);
        if (s.else_body)
            lower(*s.else_body);
        branch_to(end);
        e_.SetInsertPoint(end);
        break;
    }
    case StmtKind::Loop:
        lower_loop(as<hir::Loop>(stmt));
        break;
    case StmtKind::Foreach:
        if (as<Foreach>(stmt).histogram)
            lower_buckets(as<Foreach>(stmt));
        else
            lower_foreach(as<Foreach>(stmt));
        break;
    case StmtKind::Break:
        e_.CreateBr(loops_.back().end);
        break;
    case StmtKind::Continue:
        e_.CreateBr(loops_.back().next);
        break;
    case StmtKind::Next:
        e_.CreateBr(leave_);
        break;
    case StmtKind::Return: {
        const auto& s = as<Return>(stmt);
        if (s.value && function_ && function_->result == ValueType::String)
            store_string(result_, lower(*s.value));
        else if (s.value)
            e_.CreateStore(lower(*s.value), result_);
        e_.CreateBr(leave_);
        break;
    }
    case StmtKind::Delete:
        lower_delete(as<Delete>(stmt));
        break;
    case StmtKind::Try:
        lower_try(as<Try>(stmt));
        break;
    }
}

// At the head of a loop. What it counts with becomes unknown to the verifier, so that one look at the body is enough.
void Lowering::begin_iteration(const hir::Stmt& loop, llvm::BasicBlock* limit, llvm::Value* counter) {
    if (llvm::Value* zero = t_.programs().unknown_zero(env_)) {
        llvm::SetVector<llvm::Value*> changed;
        if (counter)
            changed.insert(counter);
        for_each_expr(loop, [&](const hir::Expr& expr) {
            if (expr.kind != hir::ExprKind::Assign || expr.type != ValueType::Long)
                return;
            const hir::Expr& target = *hir::as<hir::Assign>(expr).target;
            if (target.kind == hir::ExprKind::LocalRef)
                changed.insert(locals_[hir::as<hir::LocalRef>(target).local]);
        });
        for (llvm::Value* variable : changed)
            e_.CreateStore(e_.CreateAdd(e_.CreateLoad(e_.i64(), variable), zero), variable);
    }
    if (!begin_machine_round(loop))
        t_.programs().loop_head(limit);
}

void Lowering::lower_loop(const hir::Loop& loop) {
    if (loop.init) {
        Mark mark(*this);
        lower(*loop.init);
    }
    llvm::BasicBlock *head = e_.block("head"), *body = e_.block("body"), *next = e_.block("next"),
                     *end = e_.block("endloop"), *limit = e_.block("limit");
    branch_to(head);
    e_.SetInsertPoint(head);
    begin_iteration(loop, limit);
    spend(count_statements(loop.body), loop.range);
    if (loop.condition)
        e_.CreateCondBr(truth(*loop.condition), body, end);
    else
        e_.CreateBr(body);
    e_.SetInsertPoint(body);
    loops_.push_back({next, end});
    if (loop.body)
        lower(*loop.body);
    loops_.pop_back();
    branch_to(next);
    e_.SetInsertPoint(next);
    if (loop.step) {
        Mark mark(*this);
        lower(*loop.step);
    }
    e_.CreateBr(head);
    e_.SetInsertPoint(limit);
    raise(plan::no_actions_left, loop.range);
    e_.SetInsertPoint(end);
}

void Lowering::lower_foreach(const hir::Foreach& loop) {
    uint64_t value_size = loop.array->type == ValueType::String ? e_.slot_size() : 8;
    ForeachSpec spec{&loop, nullptr, nullptr, 0, nullptr, nullptr};
    uint64_t scan_before = scan_next_;
    if (uint64_t bytes = t_.arrays().scan_bytes(loop)) {
        spec.area = e_.offset(env_.scan, scan_next_);
        scan_next_ += bytes;
        scan_max_ = std::max(scan_max_, scan_next_);
    }
    // The limit first: it may compose keys of its own where the slice's will be.
    if (loop.limit)
        spec.limit = lower(*loop.limit);
    if (!loop.slice.empty())
        spec.slice_key = compose_key(*loop.array, loop.slice, &spec.slice_mask);
    llvm::Value* iterator = t_.arrays().foreach_begin(env_, spec);
    const plan::Global& array = e_.state().plan.globals[loop.array->index];
    llvm::Value* key = new_bytes(array.key_size + max());
    llvm::Value* value = loop.value ? new_bytes(value_size) : nullptr;
    llvm::BasicBlock *head = e_.block("head"), *body = e_.block("body"), *end = e_.block("endloop"),
                     *limit = e_.block("limit");
    e_.CreateBr(head);
    e_.SetInsertPoint(head);
    spec.again = head;
    begin_iteration(loop, limit);
    e_.CreateCondBr(t_.arrays().foreach_next(env_, spec, iterator, key, value), body, end);
    e_.SetInsertPoint(body);
    for (size_t i = 0; i < loop.keys.size(); i++) {
        llvm::Value* variable = locals_[loop.keys[i]];
        if (loop.array->keys[i] == ValueType::String)
            store_string(variable, e_.offset(key, array.keys[i].offset));
        else if (loop.keys[i]->type == ValueType::String)
            store_string(variable, numbered_text(e_, key_number(key, array.keys[i])));
        else
            e_.CreateStore(key_number(key, array.keys[i]), variable);
    }
    if (value && loop.array->type == ValueType::String)
        store_string(locals_[loop.value], value);
    else if (value)
        e_.CreateStore(e_.CreateLoad(e_.i64(), value), locals_[loop.value]);
    // An error or `next` inside leaves the iterator behind: the session frees it with the handler.
    spend(count_statements(loop.body), loop.range);
    loops_.push_back({head, end});
    lower(*loop.body);
    loops_.pop_back();
    branch_to(head);
    e_.SetInsertPoint(limit);
    raise(plan::no_actions_left, loop.range);
    e_.SetInsertPoint(end);
    t_.arrays().foreach_end(env_, iterator);
    scan_next_ = scan_before;
}

// foreach (n = b in @hist_log(x)): every bucket, also those that are empty, by number or by count.
void Lowering::lower_buckets(const hir::Foreach& loop) {
    const hir::Global* global = loop.histogram->kind == hir::ExprKind::GlobalRef
                                    ? hir::as<hir::GlobalRef>(*loop.histogram).global
                                    : hir::as<hir::Element>(*loop.histogram).array;
    const auto buckets = static_cast<int64_t>(global->stats.buckets());
    const bool by_count = loop.sort_direction != 0 && loop.sort_column == 0;
    llvm::Value* limit_value = e_.number(buckets);
    if (loop.limit) {
        llvm::Value* wanted = lower(*loop.limit);
        limit_value = e_.CreateSelect(e_.CreateICmpSLT(wanted, limit_value), wanted, limit_value);
    }
    llvm::Value* stats = stats_pointer(*loop.histogram);
    raise_if_empty(stats, loop.histogram->range);
    if (machine_ || by_count) { // a machine keeps no addresses of elements, and the order is of one moment
        auto size = static_cast<uint32_t>(sizeof(plan::StatsBlock) + 8 * global->stats.buckets());
        llvm::Value* copy = new_bytes(size);
        t_.memory().read(env_, copy, size, stats, false);
        stats = copy;
    }
    llvm::Value* counts = e_.offset(stats, sizeof(plan::StatsBlock));
    // How many there were, and the last one's number and 1.
    llvm::Value *turn = e_.stack(8), *before = e_.stack(8), *most = e_.stack(8);
    for (llvm::Value* variable : {turn, before})
        e_.CreateStore(e_.number(0), variable);
    e_.CreateStore(limit_value, most);
    llvm::BasicBlock *head = e_.block("head"), *some = e_.block("some"), *body = e_.block("body"),
                     *next = e_.block("next"), *end = e_.block("endloop"), *limit = e_.block("limit");
    e_.CreateBr(head);
    e_.SetInsertPoint(head);
    begin_iteration(loop, limit, turn);
    llvm::Value* i = e_.CreateLoad(e_.i64(), turn);
    e_.CreateCondBr(e_.CreateICmpSLT(i, e_.CreateLoad(e_.i64(), most)), some, end);
    e_.SetInsertPoint(some);
    llvm::Value* bucket =
        loop.sort_column == 1 && loop.sort_direction < 0 ? e_.CreateSub(e_.number(buckets - 1), i) : i;
    if (by_count) {
        Mark mark(*this);
        bucket = e_.routine("sonde_rt_next_bucket", e_.i64(),
                            {number_of(counts, new_slot()), e_.number(buckets), e_.CreateLoad(e_.i64(), before),
                             e_.number(loop.sort_direction)});
        e_.CreateStore(e_.CreateAdd(bucket, e_.number(1)), before);
    }
    bucket = e_.opaque(bucket);
    e_.CreateCondBr(e_.CreateICmpULT(bucket, e_.number(buckets)), body, end);
    e_.SetInsertPoint(body);
    e_.CreateStore(bucket, locals_[loop.keys[0]]);
    if (loop.value)
        e_.CreateStore(e_.CreateLoad(e_.i64(), e_.CreateGEP(e_.i64(), counts, bucket)), locals_[loop.value]);
    spend(count_statements(loop.body), loop.range);
    loops_.push_back({next, end});
    lower(*loop.body);
    loops_.pop_back();
    branch_to(next);
    e_.SetInsertPoint(next);
    e_.CreateStore(e_.CreateAdd(e_.CreateLoad(e_.i64(), turn), e_.number(1)), turn);
    e_.CreateBr(head);
    e_.SetInsertPoint(limit);
    e_.CreateBr(end);
    e_.SetInsertPoint(end);
}

void Lowering::lower_delete(const hir::Delete& stmt) {
    const hir::Global& global = *stmt.global;
    if (global.is_array()) {
        if (stmt.keys.empty()) {
            t_.arrays().erase(env_, global, nullptr, 0, true);
            return;
        }
        uint64_t mask = 0;
        llvm::Value* key = compose_key(global, stmt.keys, &mask);
        t_.arrays().erase(env_, global, key, mask, false);
        return;
    }
    llvm::Value* address = global_address(global);
    if (global.type == ValueType::String) {
        e_.CreateStore(e_.getInt8(0), address);
        return;
    }
    if (global.type == ValueType::Long) {
        e_.CreateStore(e_.number(0), address);
        return;
    }
    auto size = static_cast<uint32_t>(sizeof(plan::StatsBlock) + 8 * global.stats.buckets());
    t_.memory().read(env_, address, size, e_.zeros(size), false);
}

void Lowering::lower_try(const hir::Try& stmt) {
    llvm::BasicBlock *caught = e_.block("catch"), *end = e_.block("endtry");
    llvm::BasicBlock* outer = catch_;
    catch_ = caught;
    if (stmt.body)
        lower(*stmt.body);
    catch_ = outer;
    branch_to(end);
    e_.SetInsertPoint(caught);
    llvm::BasicBlock* handle = e_.block("handle");
    e_.CreateCondBr(is_past_catching(), outer, handle);
    e_.SetInsertPoint(handle);
    if (stmt.message) {
        // error("text") left its text; other errors have their site's message, some with an address.
        llvm::Value* slot = locals_[stmt.message];
        llvm::BasicBlock *own = e_.block("text"), *standard = e_.block("standard"), *with = e_.block("argument"),
                         *done = e_.block("message");
        e_.CreateCondBr(has_error_text(), own, standard);
        e_.SetInsertPoint(own);
        store_string(slot, env_.error_text);
        e_.CreateBr(done);
        e_.SetInsertPoint(standard);
        llvm::Value* error = e_.CreateLoad(e_.i64(), env_.error);
        llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {slot, site_message(e_, error)});
        llvm::Value* argument = e_.CreateLoad(e_.i64(), error_argument(e_, env_));
        e_.CreateCondBr(e_.CreateICmpNE(e_.CreateAnd(error, e_.number(with_argument)), e_.number(0)), with, done);
        e_.SetInsertPoint(with);
        e_.routine("sonde_rt_append_long", e_.i64(), {slot, length, argument, e_.number('x' | '#' << 8)});
        e_.CreateBr(done);
        e_.SetInsertPoint(done);
    }
    if (stmt.handler)
        lower(*stmt.handler);
    branch_to(end);
    e_.SetInsertPoint(end);
}

} // namespace sonde
