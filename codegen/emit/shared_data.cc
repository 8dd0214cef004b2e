#include "codegen/emit/shared_data.h"

#include <algorithm>

#include "runtime/plan/shared_globals.h"

namespace sonde {
namespace {
constexpr const char* variable_name = "sonde_shared";
} // namespace

llvm::GlobalVariable* declare_shared_data(Emitter& e) {
    if (std::ranges::none_of(e.state().plan.globals, plan::is_shared))
        return nullptr;
    if (llvm::GlobalVariable* declared = e.module().getNamedGlobal(variable_name))
        return declared;
    auto* type = llvm::ArrayType::get(e.getInt8Ty(), plan::shared_bytes);
    auto* out = new llvm::GlobalVariable(e.module(), type, false, llvm::GlobalValue::ExternalLinkage,
                                         llvm::ConstantAggregateZero::get(type), variable_name);
    out->setSection(plan::shared_section);
    out->setAlignment(llvm::Align(8));
    return out;
}

llvm::Value* data_address(Emitter& e, llvm::Value* data, uint64_t offset) {
    if (!e.in_kernel() || offset < plan::shared_at)
        return e.offset(data, offset);
    return e.offset(declare_shared_data(e), offset - plan::shared_at);
}

} // namespace sonde
