// A session link's program: the same one runs at a function's entry and at its return.
#include "codegen/bpf/target_bpf.h"

namespace sonde {

llvm::Function* BpfTarget::begin_leg(const std::string& symbol) {
    auto* type = llvm::FunctionType::get(ir_.getInt32Ty(), {ptr()}, false);
    auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                            symbol + (saves_entry_ ? "" : "_return"), *module_);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    (saves_entry_ ? entry_leg_ : return_leg_) = function;
    return function;
}

void BpfTarget::join_legs(const hir::Handler& handler) {
    auto* function =
        llvm::Function::Create(return_leg_->getFunctionType(), llvm::Function::ExternalLinkage, handler.name, *module_);
    function->setSection(sleeps_ && !counts_ ? "uprobe.s" : "uprobe");
    ir_.SetInsertPoint(llvm::BasicBlock::Create(*context_, "entry", function));
    describe(function, handler.range);
    llvm::Value* context = function->getArg(0);
    llvm::BasicBlock *entered = block("entered"), *returned = block("returned");
    // Kernels before 7.0 do not look at the argument.
    llvm::Value* returns = helper(plan::call_session_is_return, {context});
    ir_.CreateCondBr(ir_.CreateICmpNE(ir_.CreateAnd(returns, number(1)), number(0)), returned, entered);
    for (auto [leg, at] : {std::pair(entry_leg_, entered), std::pair(return_leg_, returned)}) {
        ir_.SetInsertPoint(at);
        ir_.CreateRet(ir_.CreateCall(leg, {context}));
    }
}

} // namespace sonde
