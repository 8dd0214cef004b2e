// Computes addresses in the handler's frame where they are used.
//
// A handler's frame is map memory; an address in it is one pointer plus a constant. The optimizer computes each address
// once and keeps it. But BPF has only four registers that survive a call, and 512 bytes of stack for all other values:
// a handler with a few dozen statements would not fit. Adding the constant again costs as much as loading the sum from
// the stack.
#include "codegen/bpf/sink_addresses.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace sonde {
namespace {

// Loads and stores can add a 16-bit offset themselves.
bool takes_offset(const llvm::Use& use, int64_t offset) {
    const auto* user = use.getUser();
    return llvm::isInt<16>(offset) && use.get() == llvm::getLoadStorePointerOperand(user);
}

// Emits the addition as assembly, so that no later pass merges two of them.
llvm::Value* add_here(llvm::IRBuilder<>& builder, llvm::Value* base, int64_t offset) {
    auto* type = llvm::FunctionType::get(base->getType(), {base->getType(), builder.getInt64Ty()}, false);
    auto* add = llvm::InlineAsm::get(type, "$0 += $2", "=r,0,i", true);
    return builder.CreateCall(type, add, {base, builder.getInt64(static_cast<uint64_t>(offset))});
}

// Moves one address to its uses. A use can be a load or store with an offset, an operand of a phi, or anything else.
// For a phi, the addition belongs to the end of the block that the value comes from.
void sink(llvm::GetElementPtrInst& address, const llvm::DataLayout& layout) {
    llvm::APInt offset(64, 0);
    llvm::Value* base = address.stripAndAccumulateConstantOffsets(layout, offset, true);
    if (llvm::isa<llvm::Constant>(base) || llvm::isa<llvm::AllocaInst>(base) || base == &address)
        return;
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : address.uses())
        uses.push_back(&use);
    for (llvm::Use* use : uses) {
        if (use->get() != &address)
            continue;
        auto* user = llvm::cast<llvm::Instruction>(use->getUser());
        auto* further = llvm::dyn_cast<llvm::GetElementPtrInst>(user);
        if (further && further->hasAllConstantIndices())
            continue;
        if (takes_offset(*use, offset.getSExtValue())) {
            // If address and access are in the same block, LLVM folds the offset into the access. For the context this
            // is required: the verifier accepts only constant offsets there.
            if (user->getParent() != address.getParent()) {
                llvm::IRBuilder<> builder(user);
                use->set(builder.CreateConstGEP1_64(builder.getInt8Ty(), base, offset.getZExtValue()));
            }
            continue;
        }
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) {
            llvm::BasicBlock* from = phi->getIncomingBlock(*use);
            llvm::IRBuilder<> builder(from->getTerminator());
            phi->setIncomingValueForBlock(from, add_here(builder, base, offset.getSExtValue()));
            continue;
        }
        llvm::IRBuilder<> builder(user);
        use->set(add_here(builder, base, offset.getSExtValue()));
    }
}

} // namespace

void sink_addresses(llvm::Module& module) {
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            for (llvm::Instruction& instruction : llvm::make_early_inc_range(block))
                if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
                    sink(*address, module.getDataLayout());
}

} // namespace sonde
