// Functions of the script.
//
// A function becomes `i64 f(context, frame, data, error, row, result, scan, tokens, matches, user stack, task, can
// wait, arguments...)`. It returns 0, or 1 if an error is pending. In BPF it is always inlined, so the number of
// arguments does not matter and the verifier sees one program. On the host it is called. Its frame follows the part of
// the caller's frame that is in use at the call. Recursive functions get their frames from a stack.
//
// In BPF, functions that sonde itself makes and marks (hir::Function::compiled_once) are compiled once: `i64 f(frame,
// error, result, at most two numbers)`. This is a global function, which the verifier checks only once, by the sizes of
// the memory that the pointers lead to. Such a function knows nothing else about the hit.
#include "codegen/lower/function.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "codegen/lower/c_calls.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/needs.h"
#include "codegen/lower/prologue.h"
#include "codegen/lower/recursion.h"
#include "codegen/lower/stmt.h"
#include "codegen/lower/strings.h"

namespace sonde {

using hir::ValueType;

namespace {

bool is_global(const Lowerer& l, const hir::Function& function) { return function.compiled_once && l.e.in_kernel(); }

constexpr unsigned global_arguments = 3;
constexpr uint64_t least_frame = 8; // the verifier does not accept memory of 0 bytes

void take_global_environment(Lowerer& l, llvm::Function* function) {
    Emitter& e = l.e;
    // The verifier assumes that each pointer may be null.
    for (unsigned i = 0; i < global_arguments; i++) {
        llvm::BasicBlock *none = e.block("no_memory"), *some = e.block("memory");
        e.CreateCondBr(e.CreateIsNull(function->getArg(i)), none, some);
        e.SetInsertPoint(none);
        e.CreateRet(e.number(1));
        e.SetInsertPoint(some);
    }
    l.env.frame = function->getArg(0);
    place_environment(l, function->getArg(1), true);
    l.result = function->getArg(2);
    l.env.context = l.env.scan = l.env.tokens = l.env.matches = l.env.stacks = e.null();
    l.env.data = l.data;
    l.env.row = e.getInt32(0);
    l.env.task = l.env.can_wait = e.number(0);
}

// Call it after the body is lowered, which determines the frame's size.
void describe_global(Lowerer& l, const hir::Function& function, llvm::Function* code) {
    Emitter& e = l.e;
    std::vector<uint64_t> bytes = {std::max(l.frame.most, least_frame), environment_bytes(l) + e.slot_size(),
                                   function.result == ValueType::String ? e.slot_size() : 8};
    bytes.resize(code->arg_size());
    e.lines().describe_parameters(code, bytes);
}

llvm::Function* declare_global(Lowerer& l, const hir::Function& function) {
    Emitter& e = l.e;
    CHECK(function.params.size() <= 2);
    std::vector<llvm::Type*> types(global_arguments, e.ptr());
    types.resize(global_arguments + function.params.size(), e.i64());
    std::string name = once_prefix + function.name;
    std::ranges::replace(name, '.', '_'); // names in BTF must be C identifiers
    while (e.module().getFunction(name))
        name += '_';
    // Weak, so that LLVM draws no more conclusions about the body than the verifier.
    auto* out = llvm::Function::Create(llvm::FunctionType::get(e.i64(), types, false), llvm::Function::WeakAnyLinkage,
                                       name, e.module());
    out->addFnAttr(llvm::Attribute::NoInline);
    return out;
}

void lower_function(Lowerer& l, const hir::Function& function) {
    Emitter& e = l.e;
    LoweredFunction& lowered = l.functions[&function];
    llvm::Function* out = lowered.code;
    l.function = &function;
    e.SetInsertPoint(llvm::BasicBlock::Create(e.getContext(), "entry", out));
    e.lines().describe(out, function.range);
    l.env.has_frame = needs_of(function, e.state(), e.in_kernel()).frame;
    const bool global = is_global(l, function);
    if (global)
        take_global_environment(l, out);
    else
        take_environment(l, out);
    llvm::BasicBlock* failed = e.block("failed");
    llvm::BasicBlock* end = e.block("end");
    l.on_error = failed;
    l.leave = end;
    for (size_t i = 0; i < function.params.size(); i++) {
        llvm::Value* argument = out->getArg((global ? global_arguments : fixed_arguments) + static_cast<unsigned>(i));
        if (function.params[i]->type == ValueType::String) {
            llvm::Value* slot = l.new_slot();
            store_string(l, slot, argument);
            l.locals[function.params[i]] = slot;
        } else {
            llvm::Value* variable = l.new_variable(8);
            e.CreateStore(argument, variable);
            l.locals[function.params[i]] = variable;
        }
    }
    begin_locals(l, function.locals);
    spend(l, 1, function.range);
    if (function.c_code.range.valid())
        lower_c_body(l, function);
    else
        lower(l, *function.body);
    l.branch_to(end);
    e.SetInsertPoint(failed);
    e.CreateRet(e.number(1));
    e.SetInsertPoint(end);
    e.CreateRet(e.number(0));
    lowered.frame_bytes = l.frame.most;
    lowered.scan_bytes = l.scan.most;
    if (global)
        describe_global(l, function, out);
    if (llvm::GlobalVariable* size = e.module().getNamedGlobal("frame_size." + function.name))
        size->setInitializer(llvm::ConstantInt::get(e.i64(), l.frame.most));
}

} // namespace

llvm::Function* declare_function(Lowerer& l, const hir::Function& function) {
    Emitter& e = l.e;
    auto [entry, fresh] = l.functions.try_emplace(&function);
    if (!fresh)
        return entry->second.code;
    llvm::Type *p = e.ptr(), *i = e.i64();
    std::vector<llvm::Type*> types = {p, p, p, p, e.getInt32Ty(), p, p, p, p, p, i, i};
    for (const hir::Local* param : function.params)
        types.push_back(param->type == ValueType::String ? p : i);
    llvm::Function* out = nullptr;
    if (is_global(l, function))
        out = declare_global(l, function);
    else
        out = llvm::Function::Create(llvm::FunctionType::get(i, types, false), llvm::Function::InternalLinkage,
                                     "fn_" + function.name, e.module());
    if (e.in_kernel() && !is_global(l, function))
        out->addFnAttr(llvm::Attribute::AlwaysInline);
    if (!is_global(l, function))
        out->getArg(fixed_arguments - 1)->setName(can_wait_name);
    entry->second.code = out;
    // Save the state of the body that is being lowered.
    BodyState& body = l;
    BodyState waiting = std::exchange(body, {});
    auto saved_point = e.saveIP();
    llvm::DebugLoc saved_location = e.getCurrentDebugLocation();
    if (function.recursive && e.in_kernel())
        lower_machine(l, function);
    else
        lower_function(l, function);
    body = std::move(waiting);
    e.restoreIP(saved_point);
    e.SetCurrentDebugLocation(saved_location);
    return out;
}

llvm::Value* lower_call(Lowerer& l, const hir::Call& expr, llvm::Value* slot) {
    Emitter& e = l.e;
    const hir::Function& callee = *expr.callee;
    if (l.machine && callee.recursive)
        return call_in_machine(l, expr);
    llvm::Function* target = declare_function(l, callee);
    llvm::Value* result = callee.result != ValueType::String ? e.stack(8) : slot ? slot : l.new_slot();
    if (callee.result == ValueType::String)
        e.CreateStore(e.getInt8(0), result);
    else
        e.CreateStore(e.number(0), result);
    Mark mark(l);
    std::vector<llvm::Value*> arguments;
    for (size_t i = 0; i < expr.args.size(); i++)
        arguments.push_back(lower(l, *expr.args[i]));
    llvm::Value* null = e.null();
    llvm::Value* frame = l.env.frame ? l.env.frame : null;
    bool pushed = callee.recursive && !e.in_kernel();
    if (pushed) {
        std::string name = "frame_size." + callee.name;
        llvm::GlobalVariable* size = e.module().getNamedGlobal(name);
        if (!size)
            size = new llvm::GlobalVariable(e.module(), e.i64(), false, llvm::GlobalValue::InternalLinkage,
                                            llvm::ConstantInt::get(e.i64(), 0), name);
        // In the function's own body the size is not known yet, so it is loaded. lower_function() stores it afterwards.
        frame = e.routine("sonde_host_push_frame", e.ptr(), {l.env.context, e.CreateLoad(e.i64(), size)});
        raise_if(l, e.CreateICmpEQ(frame, null), plan::ErrorId::NestedTooDeep, expr.range);
    } else if (l.env.frame) {
        frame = e.offset(l.env.frame, l.frame.next);
        const uint64_t bytes = l.functions[&callee].frame_bytes;
        l.frame.need(l.frame.next + (is_global(l, callee) ? std::max(bytes, least_frame) : bytes));
    }
    llvm::Value* scan = l.env.scan ? e.offset(l.env.scan, l.scan.next) : null;
    l.scan.need(l.scan.next + l.functions[&callee].scan_bytes);
    std::vector<llvm::Value*> all = {l.env.context,
                                     frame,
                                     l.env.data,
                                     l.env.error,
                                     l.env.row,
                                     result,
                                     scan,
                                     l.env.tokens ? l.env.tokens : null,
                                     l.env.matches ? l.env.matches : null,
                                     l.env.stacks ? l.env.stacks : null,
                                     l.env.task ? l.env.task : e.number(0),
                                     l.env.can_wait ? l.env.can_wait : e.number(0)};
    if (is_global(l, callee))
        all = {frame, l.env.error, result};
    all.insert(all.end(), arguments.begin(), arguments.end());
    e.lines().locate(expr.range);
    llvm::Value* status = e.CreateCall(target, all);
    if (pushed)
        e.routine("sonde_host_pop_frame", e.getVoidTy(), {l.env.context, frame});
    check_call(l, expr, status);
    return callee.result == ValueType::String ? result : e.CreateLoad(e.i64(), result);
}

} // namespace sonde
