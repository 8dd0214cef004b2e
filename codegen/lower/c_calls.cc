// Calls between the script and its C.
//
// From the script to C: clang compiles a C function (codegen/c), and the code that is emitted here calls it. If the C
// fails, it returns the number of the place, counted from 1, together with the bits of the pending error.
//
// From C to the script: the C function gets the environment as words in memory. It passes their address to a small
// function, which loads the words and calls the script's function with them. After inlining, nothing of this remains.
#include "codegen/lower/c_calls.h"

#include <array>

#include "codegen/emit/c_code.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/function.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/prologue.h"
#include "codegen/lower/stmt.h"

namespace sonde {

using hir::ValueType;

namespace {

// The hidden arguments of a script's function without the place for its result. 0 stands for unused ones. The order is
// that of take_environment().
std::array<llvm::Value*, fixed_arguments - 1> environment_of(Lowerer& l, llvm::Value* frame, llvm::Value* scan) {
    return {l.env.context, frame,         l.env.data,   l.env.error, l.env.row,     scan,
            l.env.tokens,  l.env.matches, l.env.stacks, l.env.task,  l.env.can_wait};
}
constexpr unsigned result_at = 5; // the position of the result's place among them

// Defines `i64 sonde_s_g(environment, arguments..., result)`, through which C calls the script's function g. For
// `function g(n)`, it is `return fn_g(environment[0], ..., environment[4], result, environment[5], ...,
// environment[10], n)`.
void define_for_c(Lowerer& l, const hir::Function& callee) {
    Emitter& e = l.e;
    const std::string name = script_symbol(callee.name);
    if (e.module().getFunction(name))
        return;
    llvm::Function* target = declare_function(l, callee);
    std::vector<llvm::Type*> types = {e.ptr()};
    for (const hir::Local* param : callee.params)
        types.push_back(param->type == ValueType::String ? e.ptr() : e.i64());
    types.push_back(e.ptr());
    // External until the C is linked.
    llvm::Function* out = llvm::Function::Create(llvm::FunctionType::get(e.i64(), types, false),
                                                 llvm::Function::ExternalLinkage, name, e.module());
    auto saved_point = e.saveIP();
    llvm::DebugLoc saved_location = e.getCurrentDebugLocation();
    e.SetInsertPoint(llvm::BasicBlock::Create(e.getContext(), "entry", out));
    e.SetCurrentDebugLocation({});
    std::vector<llvm::Value*> arguments;
    for (unsigned i = 0; i < fixed_arguments; i++) {
        if (i == result_at) {
            arguments.push_back(out->getArg(out->arg_size() - 1));
            continue;
        }
        const unsigned word = i - (i > result_at);
        arguments.push_back(e.CreateLoad(target->getArg(i)->getType(), e.offset(out->getArg(0), 8 * word)));
    }
    for (unsigned i = 1; i + 1 < out->arg_size(); i++)
        arguments.push_back(out->getArg(i));
    e.CreateRet(e.CreateCall(target, arguments));
    e.restoreIP(saved_point);
    e.SetCurrentDebugLocation(saved_location);
}

// Stores the environment for functions that C calls, and returns its address.
llvm::Value* hand_environment(Lowerer& l, const hir::Function& function) {
    Emitter& e = l.e;
    if (function.c_calls.empty())
        return e.null();
    for (const hir::CCall& one : function.c_calls) {
        define_for_c(l, *one.call->callee);
        const LoweredFunction& callee = l.functions[one.call->callee];
        l.frame.need(l.frame.next + callee.frame_bytes);
        l.scan.need(l.scan.next + callee.scan_bytes);
    }
    llvm::Value* frame = l.env.frame ? e.offset(l.env.frame, l.frame.next) : nullptr;
    llvm::Value* scan = l.env.scan ? e.offset(l.env.scan, l.scan.next) : nullptr;
    const auto all = environment_of(l, frame, scan);
    llvm::Value* out = e.stack(8 * all.size());
    for (size_t i = 0; i < all.size(); i++)
        e.CreateStore(all[i] ? all[i] : e.number(0), e.offset(out, 8 * i));
    return out;
}

} // namespace

// The result of the C code decides how to go on:
// * 0: it has succeeded.
// * c_goes_on: it has used STAP_NEXT, so the next function of the same name runs.
// * c_failed_before: a function of the script that it has called has left a pending error.
// * Other numbers: the place of the failure, counted from 1. The places get consecutive sites, so an addition gives the
//   site.
void lower_c_body(Lowerer& l, const hir::Function& function) {
    Emitter& e = l.e;
    const CFunction& c_code = e.state().facts.c_code->functions.at(function.name);
    if (c_code.writes.valid())
        note_write(l, c_code.writes, "bpf_probe_write_user");
    if (c_code.kernel_call.valid())
        note_change(l, c_code.kernel_call, "a call of the kernel's own functions");
    std::vector<llvm::Value*> arguments;
    for (const hir::Local* param : function.params)
        arguments.push_back(param->type == ValueType::String ? l.locals[param]
                                                             : e.CreateLoad(e.i64(), l.locals[param]));
    llvm::Value* slots = c_code.slots ? l.new_bytes(c_code.slots * e.slot_size()) : e.null();
    arguments.push_back(hand_environment(l, function));
    arguments.push_back(slots);
    arguments.push_back(l.result);
    arguments.push_back(l.env.error_text ? l.env.error_text : e.null());
    llvm::Value* status = e.routine(c_symbol(function.name), e.i64(), arguments);
    llvm::BasicBlock *failed = e.block("c_failed"), *good = e.block("c_returned");
    e.CreateCondBr(e.CreateICmpEQ(status, e.number(0)), good, failed);
    e.SetInsertPoint(failed);
    if (function.c_next) {
        llvm::BasicBlock *next = e.block("c_next"), *other = e.block("c_failed");
        e.CreateCondBr(e.CreateICmpEQ(status, e.number(c_goes_on)), next, other);
        e.SetInsertPoint(next);
        lower(l, *function.c_next);
        l.branch_to(l.leave);
        e.SetInsertPoint(other);
    }
    if (!function.c_calls.empty()) {
        llvm::BasicBlock* own = e.block("c_failed");
        e.CreateCondBr(e.CreateICmpEQ(status, e.number(c_failed_before)), l.on_error, own);
        e.SetInsertPoint(own);
    }
    int64_t before_first = 0;
    for (size_t i = 0; i < c_code.places.size(); i++) {
        uint32_t site = e.state().add_site(c_code.places[i].message, c_code.places[i].range);
        if (i == 0)
            before_first = int64_t{site} - 1;
    }
    set_error(l, e.CreateAdd(status, e.number(before_first)), e.CreateLoad(e.i64(), l.result));
    e.CreateBr(l.on_error);
    e.SetInsertPoint(good);
}

} // namespace sonde
