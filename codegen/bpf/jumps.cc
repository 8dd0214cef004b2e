#include "codegen/bpf/jumps.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace sonde {

// may_goto has only a 16-bit offset, and LLVM cannot extend a jump in assembly. So the instruction jumps to a 32-bit
// jump right after it.
void lengthen_may_goto(llvm::Module& module) {
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            if (auto* branch = llvm::dyn_cast<llvm::CallBrInst>(block.getTerminator()))
                branch->setCalledOperand(llvm::InlineAsm::get(branch->getFunctionType(),
                                                              "may_goto +1\n\tgoto +1\n\tgotol ${0:l}", "!i", true));
}

void rearrange(llvm::Module& module, uint32_t arrangement) {
    const uint32_t every = 16 * arrangement;
    uint32_t number = 0;
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
    llvm::InlineAsm* filler = llvm::InlineAsm::get(type, "r0 = 0", "~{r0}", true);
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            if (++number % every == 0)
                llvm::IRBuilder<>(block.getTerminator()).CreateCall(filler);
}

} // namespace sonde
