// A session link's program: the same one runs at a function's entry and at its return.
#include "codegen/bpf/target_bpf.h"

namespace sonde {

llvm::Function* BpfTarget::begin_leg(const std::string& symbol) {
    auto* type = llvm::FunctionType::get(e_.getInt32Ty(), {e_.ptr()}, false);
    auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                            symbol + (saves_entry_ ? "" : "_return"), e_.module());
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    (saves_entry_ ? entry_leg_ : return_leg_) = function;
    return function;
}

void BpfTarget::join_legs(const hir::Handler& handler) {
    auto* function = llvm::Function::Create(return_leg_->getFunctionType(), llvm::Function::ExternalLinkage,
                                            handler.name, e_.module());
    function->setSection(sleeps_ && !counts_ ? "uprobe.s" : "uprobe");
    e_.SetInsertPoint(llvm::BasicBlock::Create(e_.getContext(), "entry", function));
    e_.lines().describe(function, handler.range);
    llvm::Value* context = function->getArg(0);
    llvm::BasicBlock *entered = e_.block("entered"), *returned = e_.block("returned");
    // Kernels before 7.0 do not look at the argument.
    llvm::Value* returns = helper(plan::call_session_is_return, {context});
    e_.CreateCondBr(e_.CreateICmpNE(e_.CreateAnd(returns, e_.number(1)), e_.number(0)), returned, entered);
    for (auto [leg, at] : {std::pair(entry_leg_, entered), std::pair(return_leg_, returned)}) {
        e_.SetInsertPoint(at);
        e_.CreateRet(e_.CreateCall(leg, {context}));
    }
}

} // namespace sonde
