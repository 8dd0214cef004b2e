// Zeroes "wiped" scratch memory at the beginning of a handler, too.
//
// Such memory is zeroed after each use. In loops the verifier compares the whole stack, including bytes that are never
// read again. To it, memory that was never written differs from zeros. So a path that skips the use would have another
// state than a path through it, and the verifier would check the loop many times. This pass runs after the optimizer,
// when all called functions are inlined into the handler.
#include "codegen/bpf/wiped_scratch.h"

#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "codegen/emit/emitter.h"

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
