// An LLVM instruction builder with the building blocks that BPF and host code share.
//
// Two of them exist because of the verifier.
//
// opaque() is an empty piece of assembly that "changes" a number. Example: `if (i < 16) a[i] = 0`. LLVM may compare `i`
// and use a copy of it in another register. The verifier does not know that both are equal, and rejects the access.
// After opaque(), there is only one number to compare and to use.
//
// scratch() gives memory for a short time, by a tag. All uses of a tag share it. Different sizes first get variables of
// their own, because the largest size is known only at the end. Then merge_scratch() replaces them by the largest one.
#include "codegen/emit/emitter.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <llvm/IR/InlineAsm.h>

namespace sonde {

Emitter::Emitter(llvm::LLVMContext& context, PlanState& state, const char* module_name, bool in_kernel)
    : llvm::IRBuilder<>(context), state_(state), in_kernel_(in_kernel),
      module_(std::make_unique<llvm::Module>(module_name, context)), lines_(*this, *module_, state.sources) {}

Emitter::~Emitter() = default;

llvm::BasicBlock* Emitter::block(const char* name) {
    return llvm::BasicBlock::Create(getContext(), name, GetInsertBlock()->getParent());
}

llvm::Value* Emitter::literal(const std::string& text) {
    auto [entry, fresh] = literals_.try_emplace(text, nullptr);
    if (fresh) {
        llvm::Constant* bytes = llvm::ConstantDataArray::getString(getContext(), text, true);
        entry->second = new llvm::GlobalVariable(*module_, bytes->getType(), true, llvm::GlobalValue::InternalLinkage,
                                                 bytes, fmt::format("text.{}", literals_.size()));
        if (in_kernel_)
            entry->second->setSection(".rodata");
        entry->second->setAlignment(llvm::Align(8));
    }
    return entry->second;
}

llvm::Value* Emitter::zeros(uint64_t size) {
    zeros_size_ = std::max(zeros_size_, size);
    llvm::GlobalVariable* zeros = module_->getNamedGlobal("sonde_rt_zeros");
    if (!zeros)
        zeros = new llvm::GlobalVariable(*module_, getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr,
                                         "sonde_rt_zeros");
    return zeros;
}

llvm::Value* Emitter::routine(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* arg : args)
        types.push_back(arg->getType());
    llvm::FunctionCallee callee = module_->getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    return CreateCall(callee, args);
}

llvm::Value* Emitter::opaque(llvm::Value* value) {
    auto* type = llvm::FunctionType::get(i64(), {i64()}, false);
    return CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", true), {value});
}

llvm::Value* Emitter::address_as_number(llvm::Value* pointer) {
    auto* type = llvm::FunctionType::get(i64(), {i64()}, false);
    return CreateCall(type, llvm::InlineAsm::get(type, "$0 = -$0\n$0 = -$0", "=r,0", true),
                      {CreatePtrToInt(pointer, i64())});
}

llvm::Value* Emitter::masked(llvm::Value* value, uint64_t mask) { return CreateAnd(opaque(value), getInt64(mask)); }

llvm::Value* Emitter::offset(llvm::Value* pointer, uint64_t bytes) {
    return bytes ? CreateConstGEP1_64(getInt8Ty(), pointer, bytes) : pointer;
}

llvm::AllocaInst* Emitter::stack(uint64_t bytes) {
    llvm::Function* function = GetInsertBlock()->getParent();
    llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    llvm::AllocaInst* slot = entry.CreateAlloca(llvm::ArrayType::get(i64(), (bytes + 7) / 8));
    slot->setAlignment(llvm::Align(8));
    return slot;
}

llvm::Value* Emitter::scratch(const std::string& tag, uint64_t bytes) {
    llvm::AllocaInst*& slot = scratch_[{GetInsertBlock()->getParent(), tag}][bytes];
    if (!slot)
        slot = stack(bytes);
    return slot;
}

bool Emitter::is_scratch(const llvm::AllocaInst& variable) const {
    for (const auto& [owner, sizes] : scratch_)
        for (const auto& [size, slot] : sizes)
            if (slot == &variable)
                return true;
    return false;
}

void Emitter::merge_scratch() {
    for (auto& [owner, sizes] : scratch_) {
        llvm::AllocaInst* largest = sizes.rbegin()->second;
        const std::string& tag = owner.second;
        largest->setName(tag.starts_with("wiped") ? wiped_name : scratch_name);
        for (auto& [size, slot] : sizes)
            if (slot != largest) {
                slot->replaceAllUsesWith(largest);
                slot->eraseFromParent();
            }
    }
    scratch_.clear();
}

llvm::Value* holds(Emitter& e, const RegisterTest& test, llvm::Value* value) {
    return e.CreateICmpEQ(e.CreateAnd(value, e.number(static_cast<int64_t>(test.mask))),
                          e.number(static_cast<int64_t>(test.value)));
}

} // namespace sonde
