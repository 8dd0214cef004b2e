// Primitives of handlers for recorded events. These handlers run on the host.
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/primitives.h"

namespace sonde {

llvm::Value* emit_recorded(Lowerer& l, const hir::Intrinsic& expr) {
    return l.e.routine("sonde_host_recorded", l.e.i64(), {l.env.context, lower(l, *expr.args[0])});
}

llvm::Value* emit_recorded_number(Lowerer& l, const hir::Intrinsic& expr) {
    return l.e.routine("sonde_host_recorded_number", l.e.i64(), {l.env.context, lower(l, *expr.args[0])});
}

llvm::Value* emit_recorded_text(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    e.routine("sonde_host_recorded_text", e.getVoidTy(),
              {l.env.context, slot, e.number(static_cast<int64_t>(l.max_string())), lower(l, *expr.args[0])});
    return slot;
}

llvm::Value* emit_recorded_all(Lowerer& l, const hir::Intrinsic&) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    e.routine("sonde_host_recorded_all", e.getVoidTy(),
              {l.env.context, slot, e.number(static_cast<int64_t>(l.max_string()))});
    return slot;
}

} // namespace sonde
