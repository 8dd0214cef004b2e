// BPF has no exceptions, so errors of the script are ordinary control flow. An error is stored in memory (the pending
// error), and the code branches to BodyState::on_error. That is the handler of the innermost `try`, or else the end of
// the body. A function with a pending error returns 1, and its caller branches to its own on_error.
//
// The pending error consists of numbers only: that of its site (message and range, PlanState::add_site), one for the
// end of the message, and those of the calls that lead to the error. The runtime builds the text from these. For
// example, say that a handler calls f(), which reads from address 8:
// - raise() stores the site with "read fault at %#x", and the argument 8.
// - check_call() adds the handler's call of f().
// - report_error() sends the record, and the runtime prints message, line and call.
//
// Errors are rare, but their code is loaded and verified with each handler. So the code at each place is kept small,
// and shared code is in functions that are not inlined.
#include "codegen/lower/errors.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "codegen/lower/lowerer.h"
#include "codegen/lower/prologue.h"
#include "codegen/lower/strings.h"
#include "frontend/hir/walk.h"

namespace sonde {
namespace {

llvm::Value* is_aborted(Lowerer& l) {
    Emitter& e = l.e;
    return e.CreateICmpEQ(e.CreateLoad(e.i64(), l.env.error), e.number(abort_site));
}

// Adds a call to those that the pending error reports. The words are one long number that is shifted by `call_bits`:
// the latest call is in the lowest bits of the first word, and calls that do not fit are dropped from the last one.
void note_call(Lowerer& l, llvm::Value* number) {
    Emitter& e = l.e;
    for (size_t i = 0; i < std::size(plan::ErrorDetails{}.calls); i++) {
        llvm::Value* place = error_details(e, l.env, offsetof(plan::ErrorDetails, calls) + 8 * i);
        llvm::Value* old = e.CreateLoad(e.i64(), place);
        e.CreateStore(e.CreateOr(e.CreateShl(old, plan::call_bits), number), place);
        number = e.CreateLShr(old, 64 - plan::call_bits);
    }
}

// Creates a function that does not exist in the script; `lower` emits its code. Saves and restores the state of the
// function that is being lowered.
void lower_apart(Lowerer& l, llvm::Function* out, Range range, llvm::function_ref<void()> lower) {
    Emitter& e = l.e;
    BodyState& body = l;
    BodyState waiting = std::exchange(body, {});
    auto saved_point = e.saveIP();
    llvm::DebugLoc saved_location = e.getCurrentDebugLocation();
    e.SetInsertPoint(llvm::BasicBlock::Create(e.getContext(), "entry", out));
    e.lines().describe(out, range);
    lower();
    e.CreateRetVoid();
    body = std::move(waiting);
    e.restoreIP(saved_point);
    e.SetCurrentDebugLocation(saved_location);
}

// void note_call(words, number): one function for all calls. Inlined, it was a third of the code that formats system
// calls.
llvm::Function* note_call_function(Lowerer& l) {
    Emitter& e = l.e;
    constexpr const char* name = "note_call";
    if (llvm::Function* made = e.module().getFunction(name))
        return made;
    auto* type = llvm::FunctionType::get(e.getVoidTy(), {e.ptr(), e.i64()}, false);
    llvm::Function* out = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, e.module());
    out->addFnAttr(llvm::Attribute::NoInline);
    lower_apart(l, out, l.function ? l.function->range : l.handler->range, [&] {
        place_environment(l, out->getArg(0), false);
        note_call(l, out->getArg(1));
    });
    return out;
}

} // namespace

void raise(Lowerer& l, const plan::ErrorMessage& message, Range range, llvm::Value* argument) {
    Emitter& e = l.e;
    int64_t site = e.state().add_site(message, range);
    if (message.id == plan::ErrorId::ActionsSpent)
        site |= past_catching;
    set_error(l, e.number(argument ? site | with_argument : site), argument);
    e.CreateBr(l.on_error);
}

void raise_text(Lowerer& l, llvm::Value* text, Range range) {
    Emitter& e = l.e;
    store_string(l, l.env.error_text, text);
    set_error(l, e.number(e.state().add_site(plan::ErrorId::OwnText, range) | with_text), nullptr);
    e.CreateBr(l.on_error);
}

void set_error(Lowerer& l, llvm::Value* site, llvm::Value* argument) {
    Emitter& e = l.e;
    e.CreateStore(site, l.env.error);
    e.CreateStore(argument ? argument : e.number(0), error_argument(e, l.env));
    for (size_t i = 0; i < std::size(plan::ErrorDetails{}.calls); i++)
        e.CreateStore(e.number(0), error_details(e, l.env, offsetof(plan::ErrorDetails, calls) + 8 * i));
}

void check_call(Lowerer& l, const hir::Call& expr, llvm::Value* status) {
    Emitter& e = l.e;
    llvm::BasicBlock *good = e.block("returned"), *failed = expr.callee->bounded ? l.on_error : e.block("failed_call");
    e.CreateCondBr(e.CreateICmpEQ(status, e.number(0)), good, failed);
    if (!expr.callee->bounded) { // `bounded`: sonde created this call, so errors do not mention it
        e.SetInsertPoint(failed);
        llvm::Value* number = e.number(e.state().add_call(expr.callee->name, expr.range));
        if (e.in_kernel() && !l.machine)
            e.CreateCall(note_call_function(l), {l.env.error, number});
        else
            note_call(l, number);
        e.CreateBr(l.on_error);
    }
    e.SetInsertPoint(good);
}

void raise_if(Lowerer& l, llvm::Value* condition, const plan::ErrorMessage& message, Range range,
              llvm::Value* argument) {
    Emitter& e = l.e;
    llvm::BasicBlock *bad = e.block("bad"), *good = e.block("good");
    e.CreateCondBr(condition, bad, good);
    e.SetInsertPoint(bad);
    raise(l, message, range, argument);
    e.SetInsertPoint(good);
}

llvm::Value* is_past_catching(Lowerer& l) {
    Emitter& e = l.e;
    llvm::Value* bit = e.CreateAnd(e.CreateLoad(e.i64(), l.env.error), e.number(past_catching));
    return e.CreateICmpNE(bit, e.number(0));
}

llvm::Value* has_error_text(Lowerer& l) {
    Emitter& e = l.e;
    llvm::Value* bit = e.CreateAnd(e.CreateLoad(e.i64(), l.env.error), e.number(with_text));
    return e.CreateICmpNE(bit, e.number(0));
}

namespace {

// Whether the function ends without a check of MAXACTION. This is true for functions of the library without loops.
// Loops around calls of them are counted anyway, and the check at each call was a fifth of their code.
bool ends_by_itself(Lowerer& l, const hir::Function& function) {
    if (function.bounded)
        return true;
    if (function.recursive || function.c_code.range.valid() || !l.e.state().sources.is_tapset(function.range.file))
        return false;
    bool has_loop = false;
    for_each_stmt(*function.body, [&](const hir::Stmt& stmt) {
        has_loop = has_loop || stmt.kind == hir::StmtKind::Loop || stmt.kind == hir::StmtKind::Foreach;
    });
    return !has_loop;
}

} // namespace

void spend(Lowerer& l, uint64_t statements, Range range) {
    Emitter& e = l.e;
    if (l.function && ends_by_itself(l, *l.function))
        return;
    llvm::Value* left = e.CreateSub(e.CreateLoad(e.i64(), l.env.budget), e.number(static_cast<int64_t>(statements)));
    e.CreateStore(left, l.env.budget);
    llvm::Value* least = e.number(0);
    if (!e.in_kernel()) // volatile: another thread sets it (runtime/engine/interrupter.h)
        least = e.CreateLoad(e.i64(), e.offset(l.env.data, offsetof(plan::SessionWords, least_action)), true);
    raise_if(l, e.CreateICmpSLT(left, least), plan::ErrorId::ActionsSpent, range);
}

namespace {

constexpr uint64_t error_details_at = sizeof(plan::RecordHeader),
                   error_text_at = error_details_at + sizeof(plan::ErrorDetails);

// The body of report(): builds the record and sends it. Its site, argument and text are in memory.
void lower_report(Lowerer& l, llvm::Value* buffer) {
    Emitter& e = l.e;
    e.CreateStore(e.getInt32(plan::RaiseError), buffer);
    e.CreateStore(e.CreateTrunc(e.CreateLoad(e.i64(), l.env.error), e.getInt32Ty()), e.offset(buffer, 4));
    e.CreateStore(l.env.row, e.offset(buffer, 8));
    for (uint64_t at = 0; at < sizeof(plan::ErrorDetails); at += 8)
        e.CreateStore(e.CreateLoad(e.i64(), error_details(e, l.env, at)), e.offset(buffer, error_details_at + at));
    llvm::Value* size = nullptr;
    if (l.env.error_text) {
        llvm::Value* first = e.CreateLoad(e.getInt8Ty(), l.env.error_text);
        e.CreateStore(e.CreateSelect(has_error_text(l), first, e.getInt8(0)), l.env.error_text);
        llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {e.offset(buffer, error_text_at), l.env.error_text});
        size = e.CreateAdd(e.CreateAnd(length, e.number(static_cast<int64_t>(l.max_string() - 1))),
                           e.number(static_cast<int64_t>(error_text_at + 1)));
    } else {
        e.CreateStore(e.number(0), e.offset(buffer, error_text_at));
        size = e.number(static_cast<int64_t>(error_text_at + 8));
    }
    e.CreateStore(e.CreateTrunc(e.CreateSub(size, e.number(sizeof(plan::RecordHeader))), e.getInt32Ty()),
                  e.offset(buffer, 12));
    l.target.output().send(l.env, plan::RaiseError, buffer, size);
}

// void report(context, words, buffer, row, probe): one function for all handlers. Errors are rare, but their code is as
// large as many a handler.
llvm::Function* report_function(Lowerer& l) {
    Emitter& e = l.e;
    const bool has_text = l.env.error_text;
    const char* name = has_text ? "report_error_with_text" : "report_error";
    if (llvm::Function* made = e.module().getFunction(name))
        return made;
    auto* type = llvm::FunctionType::get(e.getVoidTy(), {e.ptr(), e.ptr(), e.ptr(), e.getInt32Ty(), e.i64()}, false);
    llvm::Function* out = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, e.module());
    out->addFnAttr(llvm::Attribute::NoInline);
    lower_apart(l, out, l.handler->range, [&] {
        l.env.context = out->getArg(0);
        place_environment(l, out->getArg(1), has_text);
        l.env.row = out->getArg(3);
        l.env.probe = out->getArg(4);
        lower_report(l, out->getArg(2));
    });
    return out;
}

} // namespace

void report_error(Lowerer& l) {
    Emitter& e = l.e;
    llvm::BasicBlock *report = e.block("report"), *done = e.block("reported");
    e.CreateCondBr(is_aborted(l), done, report);
    e.SetInsertPoint(report);
    Mark mark(l);
    llvm::Value* buffer =
        l.env.error_text ? l.new_bytes(error_text_at + 2 * l.max_string()) : l.scratch("record", error_text_at + 8);
    e.CreateCall(report_function(l),
                 {l.env.context, l.env.error, buffer, l.env.row, l.env.probe ? l.env.probe : e.number(0)});
    e.CreateBr(done);
    e.SetInsertPoint(done);
}

} // namespace sonde
