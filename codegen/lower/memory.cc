#include "codegen/lower/memory.h"

#include <fmt/format.h>

#include "codegen/emit/shared_data.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/lowerer.h"

namespace sonde {

// The helper that reads memory fills a buffer on the stack. For a bitfield, the unit is shifted up until the field's
// highest bit is the sign bit, and then down with or without the sign.
llvm::Value* load(Lowerer& l, const hir::Load& expr, llvm::Value* address) {
    Emitter& e = l.e;
    llvm::Value* buffer = e.scratch("load", 8);
    e.CreateStore(e.number(0), buffer);
    llvm::Value* fault = l.target.memory().read(l.env, buffer, expr.size, address, expr.user);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::ReadFault, expr.range, address);
    llvm::Type* narrow = e.getIntNTy(expr.size * 8);
    llvm::Value* value = e.CreateLoad(narrow, buffer);
    if (expr.bit_size) {
        llvm::Value* wide = e.CreateZExt(value, e.i64());
        wide = e.CreateShl(wide, e.number(64 - expr.bit_offset - expr.bit_size));
        return expr.is_signed ? e.CreateAShr(wide, e.number(64 - expr.bit_size))
                              : e.CreateLShr(wide, e.number(64 - expr.bit_size));
    }
    if (expr.size == 8)
        return value;
    return expr.is_signed ? e.CreateSExt(value, e.i64()) : e.CreateZExt(value, e.i64());
}

void write_memory(Lowerer& l, llvm::Value* address, llvm::Value* value, uint32_t size, Range range,
                  const std::string& what) {
    Emitter& e = l.e;
    llvm::Value* buffer = e.scratch("store", 8);
    e.CreateStore(value, buffer);
    note_write(l, range, what);
    llvm::Value* fault = l.target.memory().write(l.env, buffer, size, address);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::WriteFault, range, address);
}

void note_change(Lowerer& l, Range range, const std::string& what) {
    Emitter& e = l.e;
    plan::Plan& plan = e.state().plan;
    if (plan.changes.empty() && e.in_kernel())
        plan.changes = fmt::format("`{}` at {}", what, e.state().sources.place(range));
}

// The plan names the first one if the kernel does not allow writes.
void note_write(Lowerer& l, Range range, const std::string& what) {
    Emitter& e = l.e;
    plan::Plan& plan = e.state().plan;
    note_change(l, range, what);
    if (plan.writes.empty())
        plan.writes = fmt::format("`{}` at {}", what, e.state().sources.place(range));
    if (!e.in_kernel())
        l.fail(
            range,
            fmt::format("`{}`: this handler runs in sonde's own process, which cannot write a program's memory", what));
}

llvm::Value* global_address(Lowerer& l, const hir::Global& global) {
    return data_address(l.e, l.env.data, l.e.state().plan.globals[global.index].offset);
}

} // namespace sonde
