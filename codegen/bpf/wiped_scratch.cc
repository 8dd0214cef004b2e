// What is wiped after its use is zeros before the first use, too.
//
// In loops the verifier compares the whole stack, with what nobody reads again, and memory that was never written is
// not the same to it as zeros: a way past a step with such memory would differ from the one through it. This runs
// after the optimiser, when the functions that a handler calls have become part of it.
#include "codegen/bpf/wiped_scratch.h"

#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "codegen/emitter.h"

namespace sonde {

void clear_wiped_scratch(llvm::Module& module) {
    for (llvm::Function& function : module) {
        if (function.isDeclaration())
            continue;
        std::vector<llvm::AllocaInst*> pieces;
        for (llvm::Instruction& instruction : function.getEntryBlock())
            if (auto* piece = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
                piece && piece->getName().starts_with(wiped_name))
                pieces.push_back(piece);
        if (pieces.empty())
            continue;
        llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
        for (llvm::AllocaInst* piece : pieces) {
            uint64_t bytes = piece->getAllocationSize(module.getDataLayout())->getFixedValue();
            for (uint64_t at = 0; at + 8 <= bytes; at += 8)
                builder.CreateStore(builder.getInt64(0), builder.CreateConstGEP1_64(builder.getInt8Ty(), piece, at),
                                    true);
        }
    }
}

} // namespace sonde
