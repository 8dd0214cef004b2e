// Replaces tables of addresses by stores.
//
// For `const char *names[] = {"a", "b"}` in a function, clang creates a constant with two addresses and copies it to
// the stack. The loader of a BPF object fills addresses only into instructions, so the constant would contain zeros.
// After this pass, the code is:
//
//     names[0] = &"a";
//     names[1] = &"b";
//
// Tables outside of functions stay constants; address_tables.cc replaces the addresses in these by numbers.
#include "codegen/c/constants.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

namespace sonde {
namespace {

// A constant with more parts is too large for a BPF variable anyway.
constexpr unsigned most_parts = 64;

// Stores each scalar of a constant at its offset. Arrays and structures are taken apart.
void store(llvm::IRBuilder<>& ir, const llvm::DataLayout& layout, llvm::Value* to, uint64_t offset,
           llvm::Constant& value) {
    if (!value.getType()->isAggregateType()) {
        ir.CreateAlignedStore(&value, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), to, offset), llvm::Align(1));
        return;
    }
    const auto* record = llvm::dyn_cast<llvm::StructType>(value.getType());
    const auto* array = llvm::dyn_cast<llvm::ArrayType>(value.getType());
    for (unsigned i = 0; llvm::Constant* part = value.getAggregateElement(i); i++)
        store(ir, layout, to,
              offset + (record ? layout.getStructLayout(const_cast<llvm::StructType*>(record))->getElementOffset(i)
                               : i * layout.getTypeAllocSize(array->getElementType()).getFixedValue()),
              *part);
}

} // namespace

bool holds_address(const llvm::Constant& value) {
    if (llvm::isa<llvm::GlobalValue>(value))
        return true;
    return llvm::any_of(value.operands(), [](const llvm::Use& part) {
        const auto* constant = llvm::dyn_cast<llvm::Constant>(part.get());
        return constant && holds_address(*constant);
    });
}

void fill_by_stores(llvm::Module& module) {
    const llvm::DataLayout& layout = module.getDataLayout();
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            for (llvm::Instruction& at : llvm::make_early_inc_range(block)) {
                auto* copy = llvm::dyn_cast<llvm::MemCpyInst>(&at);
                auto* from = copy ? llvm::dyn_cast<llvm::GlobalVariable>(copy->getRawSource()) : nullptr;
                if (!from || !from->isConstant() || !from->hasInitializer())
                    continue;
                llvm::Constant& value = *from->getInitializer();
                const uint64_t bytes = layout.getTypeAllocSize(value.getType());
                auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy->getLength());
                if (!length || length->getZExtValue() != bytes || bytes > most_parts * 8 || !holds_address(value))
                    continue;
                llvm::IRBuilder<> ir(copy);
                store(ir, layout, copy->getRawDest(), 0, value);
                copy->eraseFromParent();
            }
}

} // namespace sonde
