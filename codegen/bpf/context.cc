// The common tools of the BPF target.
//
// LLVM knows helpers only as function pointers with small constant addresses: `((long (*)(...))5)()` compiles to `call
// 5`. call_helper() builds such a call.
//
// Loads from the context need special care. The verifier accepts only `*(size *)(context + constant)`. LLVM would merge
// the loads of two branches into one load from a computed address, which the verifier rejects. So context_word() emits
// the whole load as assembly.
//
// Where possible, constants are in .rodata instead of on the stack. The verifier compares the whole stack when it
// decides whether it has seen a state before, so each leftover byte there can double its work.
#include "codegen/bpf/context.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/ModRef.h>

#include <vector>

namespace sonde {
namespace {

llvm::Value* call_helper(Emitter& e, uint64_t which, llvm::Type* result, std::initializer_list<llvm::Value*> args) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* arg : args)
        types.push_back(arg->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    llvm::Value* callee = e.CreateIntToPtr(e.number(static_cast<int64_t>(which)), e.getPtrTy());
    return e.CreateCall(type, callee, std::vector<llvm::Value*>(args));
}

} // namespace

BpfContext::BpfContext(Emitter& emitter) : e(emitter), state(emitter.state()) {
    llvm::Module& module = e.module();
    module.setTargetTriple("bpfel");
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    llvm::Constant* gpl = llvm::ConstantDataArray::getString(e.getContext(), "GPL", true);
    auto* license =
        new llvm::GlobalVariable(module, gpl->getType(), true, llvm::GlobalValue::ExternalLinkage, gpl, "_license");
    license->setSection("license");
    data = new llvm::GlobalVariable(module, llvm::ArrayType::get(e.getInt8Ty(), state.plan.data_size), false,
                                    llvm::GlobalValue::ExternalLinkage, nullptr, "sonde_data");
    data->setInitializer(llvm::ConstantAggregateZero::get(data->getValueType()));
    data->setAlignment(llvm::Align(8));
}

llvm::Value* helper(Emitter& e, uint64_t which, std::initializer_list<llvm::Value*> args) {
    return call_helper(e, which, e.i64(), args);
}

llvm::Value* helper_pointer(Emitter& e, uint64_t which, std::initializer_list<llvm::Value*> args) {
    return call_helper(e, which, e.ptr(), args);
}

llvm::Value* map_reference(Emitter& e, const std::string& name) {
    if (llvm::GlobalVariable* old = e.module().getNamedGlobal(name))
        return old;
    auto* type = llvm::ArrayType::get(e.ptr(), 4);
    auto* out = new llvm::GlobalVariable(e.module(), type, false, llvm::GlobalValue::ExternalLinkage,
                                         llvm::ConstantAggregateZero::get(type), name);
    out->setSection(".maps");
    out->setAlignment(llvm::Align(8));
    return out;
}

// The key is a constant of the module. If it were on the stack, old bytes next to the key would make the verifier see
// two different states where one suffices.
llvm::Value* u32_key(Emitter& e, uint32_t value) {
    return e.literal(std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

llvm::Constant* constant_words(Emitter& e, llvm::ArrayRef<uint64_t> words, const char* name) {
    auto* constant = new llvm::GlobalVariable(e.module(), llvm::ArrayType::get(e.i64(), words.size()), true,
                                              llvm::GlobalValue::InternalLinkage,
                                              llvm::ConstantDataArray::get(e.getContext(), words), name);
    constant->setSection(".rodata");
    constant->setAlignment(llvm::Align(8));
    return constant;
}

void go_if(BpfContext& bpf, llvm::Value* condition) {
    llvm::BasicBlock* go = bpf.e.block("go");
    bpf.e.CreateCondBr(condition, go, bpf.out);
    bpf.e.SetInsertPoint(go);
}

namespace {
constexpr const char* context_load = "$0 = *(u64 *)($1 + $2)";
} // namespace

llvm::Value* context_word(Emitter& e, llvm::Value* context, uint64_t at) {
    // The verifier accepts only loads at constant offsets from the context itself. If two branches load different
    // words, the optimizer merges the loads, even volatile ones, into one load from a computed address. It does not
    // merge assembly.
    auto* type = llvm::FunctionType::get(e.i64(), {context->getType(), e.i64()}, false);
    auto* load = llvm::InlineAsm::get(type, context_load, "=r,r,i", false);
    llvm::CallInst* value = e.CreateCall(type, load, {context, e.number(static_cast<int64_t>(at))});
    value->setDoesNotAccessMemory(); // true unless a handler writes registers; then order_context_words() removes this
    value->setDoesNotThrow();
    return value;
}

void order_context_words(llvm::Module& module) {
    for (llvm::Function& function : module)
        for (llvm::Instruction& at : llvm::instructions(function)) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(&at);
            auto* code = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
            if (code && code->getAsmString() == context_load)
                call->setMemoryEffects(llvm::MemoryEffects::readOnly());
        }
}

} // namespace sonde
