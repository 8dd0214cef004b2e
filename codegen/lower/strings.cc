#include "codegen/lower/strings.h"

#include "codegen/lower/lowerer.h"

namespace sonde {

llvm::Value* copy_text(Lowerer& l, llvm::Value* slot, llvm::Value* text) {
    Emitter& e = l.e;
    if (text != e.literal(""))
        return e.routine("sonde_rt_copy", e.i64(), {slot, text});
    e.CreateStore(e.getInt8(0), slot);
    return e.number(0);
}

void store_string(Lowerer& l, llvm::Value* destination, llvm::Value* source) { copy_text(l, destination, source); }

llvm::Value* copy_of(Lowerer& l, llvm::Value* string) {
    llvm::Value* slot = l.new_slot();
    store_string(l, slot, string);
    return slot;
}

} // namespace sonde
