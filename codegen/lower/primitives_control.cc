// Primitives that control the session and the handler, and that send records.
//
// Handlers in the kernel cannot end the session or run a command. They send a record of a certain type
// (plan::RecordType), and the session acts on it. `exit()` also stores Stopping in the data area at once, because the
// record arrives only later: from then on no handler begins, except end handlers.
//
// abort() leaves the handler as an error does. The word for the pending error gets the value abort_site, which `try`
// does not catch and which is not reported.
#include <cstddef>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/print.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// From now on, only end handlers begin, and after exit() the other handlers of the same hit.
void stop_session(Lowerer& l) {
    Emitter& e = l.e;
    e.CreateStore(e.number(plan::Stopping), e.offset(l.env.data, offsetof(plan::SessionWords, state)));
}

} // namespace

llvm::Value* emit_exit(Lowerer& l, const hir::Intrinsic&) {
    l.target.programs().before_exit();
    send_record(l, plan::Exit, 0, {}, {});
    stop_session(l);
    return l.e.number(0);
}

llvm::Value* emit_abort(Lowerer& l, const hir::Intrinsic&) {
    Emitter& e = l.e;
    send_record(l, plan::Abort, 0, {}, {});
    stop_session(l);
    set_error(l, e.number(abort_site), nullptr);
    e.CreateBr(l.on_error);
    e.SetInsertPoint(e.block("after_abort"));
    return e.number(0);
}

llvm::Value* emit_error_call(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    raise_text(l, lower(l, *expr.args[0]), expr.range);
    e.SetInsertPoint(e.block("after_error"));
    return e.number(0);
}

llvm::Value* emit_system(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    send_record(l, plan::System, 0, {}, {{lower(l, *expr.args[0])}});
    return l.e.number(0);
}

llvm::Value* emit_ftrace(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    llvm::Value* text = lower(l, *expr.args[0]);
    if (!l.target.output().trace(text))
        send_record(l, plan::TraceText, 0, {}, {{text}});
    return l.e.number(0);
}

llvm::Value* emit_printk(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    llvm::Value* level = lower(l, *expr.args[0]);
    send_record(l, plan::LogText, 0, {level}, {{lower(l, *expr.args[1])}});
    return l.e.number(0);
}

llvm::Value* emit_switch_file(Lowerer& l, const hir::Intrinsic&) {
    send_record(l, plan::SwitchFile, 0, {}, {});
    return l.e.number(0);
}

llvm::Value* emit_speculation(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    llvm::Value* id = lower(l, *expr.args[0]);
    if (expr.args.size() > 1)
        send_record(l, static_cast<plan::RecordType>(expr.facts.record), 0, {id}, {{lower(l, *expr.args[1])}});
    else
        send_record(l, static_cast<plan::RecordType>(expr.facts.record), 0, {id}, {});
    return l.e.number(0);
}

llvm::Value* emit_raise(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* signal = lower(l, *expr.args[0]);
    note_change(l, expr.range, "raise");
    llvm::Value* failed = l.target.task().raise_signal(signal);
    raise_if(l, e.CreateICmpNE(failed, e.number(0)), "cannot send the signal %#x", expr.range, signal);
    return e.number(0);
}

llvm::Value* emit_warn(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    send_record(l, plan::Warn, 0, {}, {{lower(l, *expr.args[0])}});
    return l.e.number(0);
}

llvm::Value* emit_dump(Lowerer& l, const hir::Intrinsic& expr) {
    Mark mark(l);
    llvm::Value* text = lower(l, *expr.args[0]);
    send_record(l, plan::Dump, 0, {l.target.task().clock(l.env, hir::Clock::Steady)}, {{text}});
    return l.e.number(0);
}

llvm::Value* emit_file_value(Lowerer& l, const hir::Intrinsic&) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    e.routine("sonde_host_file_value", e.getVoidTy(),
              {l.env.context, slot, e.number(static_cast<int64_t>(l.max_string()))});
    return slot;
}

// Returns the text, because an assignment has a value.
llvm::Value* emit_set_file_value(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* text = lower(l, *expr.args[0]);
    e.routine("sonde_host_set_file_value", e.getVoidTy(), {l.env.context, text, e.number(expr.facts.appends)});
    return text;
}

// A packet's verdict is 0 or 1. A hook's result is 0 or -4095 to -1, the range of error numbers. `value + 4095` is in 0
// to 4095 only for these, so one unsigned comparison tests both bounds.
llvm::Value* emit_set_result(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* value = lower(l, *expr.args[0]);
    bool verdict = expr.facts.decides == plan::Decision::Verdict;
    if (verdict)
        raise_if(l, e.CreateICmpUGT(value, e.number(1)), "a packet's verdict must be 0 (drop) or 1 (accept), not %#x",
                 expr.range, value);
    else
        raise_if(l, e.CreateICmpUGT(e.CreateAdd(value, e.number(4095)), e.number(4095)),
                 "a security hook must return 0 or an error down to -4095, not %#x", expr.range, value);
    if (!verdict)
        note_change(l, expr.range, "$return");
    e.CreateStore(value, decision_place(e, l.env));
    return value;
}

// A result of 0 means that the function runs.
llvm::Value* emit_set_function_result(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* value = lower(l, *expr.args[0]);
    llvm::Value* zero = lower(l, *expr.args[1]);
    llvm::Value* word = e.CreateSelect(e.CreateICmpEQ(value, e.number(0)), zero, value);
    raise_if(l, e.CreateICmpEQ(word, e.number(0)), "BPF cannot set a result of 64 bits to 0",
             expr.range); // the kernel would run the function
    note_change(l, expr.range, "$return");
    e.CreateStore(word, decision_place(e, l.env));
    return value;
}

} // namespace sonde
