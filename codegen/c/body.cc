// Code for C functions that end early: after an error, and after a read of memory that does not exist.
//
// The generated function looks like this:
//
//     begin:
//         fault_status = fault_address = has_fault = 0
//         ...
//         if (i >= 16) goto failed             // end_if(): status 3
//         ...
//         if (has_fault) goto failed           // check_returns()
//         return 0
//     failed:
//         *result = fault_address
//         return fault_status ? fault_status : 3
//
// A failed read does not leave the function at once. It only stores which read has failed, in three words that
// note_fault() updates without a branch:
//
//     failed = result >> 63                    // all ones, or 0
//     first = failed & ~has_fault              // this is the first failed read
//     fault_status |= first & status
//     fault_address |= first & address
//     has_fault |= failed
//
// So the verifier sees one path through any number of reads. The next check that leaves the function reports the first
// fault, because `failed` prefers fault_status to its own status.
//
// The price: the code between a failed read and the next check runs with zeros. So what has a lasting effect, such as
// writing a program's memory or a call of the script, is preceded by a check (check_faults()).
#include "codegen/c/body.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <fmt/format.h>

#include "codegen/c/clang_positions.h"
#include "codegen/c/refuse.h"
#include "codegen/emit/environment.h"

namespace sonde {

CBody::CBody(llvm::Function& function_, const hir::Function& script_, const CLimits& limits_, Diagnostics& diags_)
    : function(function_), script(script_), limits(limits_), diags(diags_),
      layout(function_.getParent()->getDataLayout()), ir(function_.getContext()) {}

Range CBody::place(const llvm::Instruction& at) const {
    return place_of(at.getDebugLoc(), diags.sources(), script.c_code.range);
}

DiagBuilder CBody::refuse(const llvm::Instruction& at, const std::string& message) {
    return diags.report(DiagId::EmbeddedCode, place(at), message);
}

llvm::Argument* CBody::argument(unsigned from_end) const { return function.getArg(function.arg_size() - from_end); }

llvm::Value* CBody::opaque(llvm::Value* value) {
    auto* type = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getInt64Ty()}, false);
    return ir.CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", true), {value});
}

llvm::Value* CBody::as_scalar(llvm::Value* value) {
    auto* type = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getInt64Ty()}, false);
    return ir.CreateCall(type, llvm::InlineAsm::get(type, "$0 = -$0\n\t$0 = -$0", "=r,0", true), {value});
}

llvm::Value* CBody::at_most(llvm::Value* value, uint64_t most) {
    auto* type = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getInt64Ty()}, false);
    const std::string text = fmt::format("if $0 <= {} goto +1\n\t$0 = {}", most, most);
    return ir.CreateCall(type, llvm::InlineAsm::get(type, text, "=r,0", true), {value});
}

llvm::Value* CBody::unknown_zero() {
    llvm::Value* unknown = ir.CreateLoad(ir.getInt64Ty(), argument(c_error_argument), true);
    return ir.CreateSub(unknown, opaque(unknown));
}

llvm::AllocaInst* CBody::variable_of(uint64_t bytes) {
    llvm::AllocaInst*& variable = variables[bytes];
    if (!variable) {
        ir.SetInsertPoint(&*function.getEntryBlock().begin());
        variable = ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), bytes));
        variable->setAlignment(llvm::Align(8));
    }
    return variable;
}

llvm::Instruction& CBody::make_failed() {
    ir.SetInsertPoint(&*function.getEntryBlock().begin());
    llvm::Instruction* last = nullptr;
    for (llvm::AllocaInst** one : {&fault_status, &fault_address, &has_fault}) {
        *one = ir.CreateAlloca(ir.getInt64Ty());
        last = ir.CreateStore(ir.getInt64(0), *one);
    }
    early_end = llvm::BasicBlock::Create(function.getContext(), "failed", &function);
    ir.SetInsertPoint(early_end);
    early_status = ir.CreatePHI(ir.getInt64Ty(), 4);
    llvm::Value* fault = ir.CreateLoad(ir.getInt64Ty(), fault_status);
    ir.CreateStore(ir.CreateLoad(ir.getInt64Ty(), fault_address), argument(c_result_argument));
    ir.CreateRet(ir.CreateSelect(ir.CreateICmpNE(fault, ir.getInt64(0)), fault, early_status));
    return *last;
}

void CBody::remove_failed() {
    early_status->replaceAllUsesWith(ir.getInt64(0));
    early_end->eraseFromParent();
}

void CBody::check_returns() {
    if (reads == 0)
        return;
    llvm::SmallVector<llvm::Instruction*, 2> returns;
    for (llvm::BasicBlock& block : function)
        if (&block != early_end && llvm::isa<llvm::ReturnInst>(block.getTerminator()))
            returns.push_back(block.getTerminator());
    for (llvm::Instruction* end : returns)
        check_faults(*end);
}

void CBody::check_faults(llvm::Instruction& before) {
    ir.SetInsertPoint(&before);
    llvm::Value* fault = ir.CreateLoad(ir.getInt64Ty(), has_fault);
    end_if(ir.CreateICmpNE(fault, ir.getInt64(0)), &before, 0);
}

uint64_t CBody::add_place(const plan::ErrorMessage& message, Range range, int64_t bits) {
    places.push_back({message, range});
    return places.size() | static_cast<uint64_t>(bits);
}

void CBody::end_if(llvm::Value* condition, llvm::Instruction* before, uint64_t status) {
    llvm::BasicBlock* block = before->getParent();
    llvm::BasicBlock* rest = llvm::SplitBlock(block, before);
    block->getTerminator()->eraseFromParent();
    ir.SetInsertPoint(block);
    ir.SetCurrentDebugLocation(before->getDebugLoc());
    ir.CreateCondBr(condition, early_end, rest);
    early_status->addIncoming(ir.getInt64(status), block);
}

void CBody::note_fault(const llvm::Instruction& at, llvm::Value* result, llvm::Value* address) {
    reads++;
    llvm::Value* failed = opaque(ir.CreateAShr(result, 63));
    llvm::Value* before = ir.CreateLoad(ir.getInt64Ty(), has_fault);
    llvm::Value* first = opaque(ir.CreateAnd(failed, ir.CreateNot(before)));
    const uint64_t status = add_place(plan::ErrorId::ReadFault, place(at), with_argument);
    auto keep = [&](llvm::AllocaInst* where, llvm::Value* value) {
        // Opaque: otherwise LLVM computes this only where the function ends, and keeps all operands on the stack until
        // then.
        ir.CreateStore(opaque(ir.CreateOr(ir.CreateLoad(ir.getInt64Ty(), where), value)), where);
    };
    keep(fault_status, ir.CreateAnd(first, ir.getInt64(status)));
    keep(fault_address, ir.CreateAnd(first, address));
    keep(has_fault, failed);
}

} // namespace sonde
