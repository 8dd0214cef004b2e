// Changes the distances of jumps in BPF code.
//
// lengthen_may_goto(): a loop's head is the instruction `may_goto L`, which leaves the loop after too many iterations.
// Its offset has 16 bits, so it reaches 32,767 instructions. LLVM sees only a string of assembly, and cannot choose a
// longer form. So the code becomes:
//
//     may_goto +1     // too many iterations: go to the gotol
//     goto +1         // otherwise: skip the gotol
//     gotol L         // has an offset of 32 bits (6.6)
//
// rearrange(): the kernel's JIT compiler shortens jumps until the size of the code no longer changes. For some code it
// never gets there, and refuses the program (runtime/load/load.h, kernel_cannot_compile). Code with the same meaning
// and other distances can succeed. So the driver then compiles the script again with another arrangement.
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
