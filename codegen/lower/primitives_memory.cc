// Primitives that read and write memory of programs and of the kernel.
//
// All of them have the same form: evaluate the address, let the target read into a slot, and raise an error if that
// failed. The error's text ends with the address, which is known only at run time (`%#x`, with_argument).
//
// The primitive says which memory the script means (Primitive::of_kernel).
#include <fmt/format.h>

#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/read_string.h"

namespace sonde {

// The string at an address, up to its NUL or to MAXSTRINGLEN - 1 bytes. With a second argument: at most that many
// bytes, if the number is in this range. The size that the target gets includes the NUL, so it is the number plus 1.
void read_string_into(Lowerer& l, const hir::Intrinsic& expr, llvm::Value* slot) {
    Emitter& e = l.e;
    llvm::Value* address = lower(l, *expr.args[0]);
    llvm::Value* size = e.number(static_cast<int64_t>(l.max_string()));
    if (expr.args.size() == 2) {
        llvm::Value* limit = e.CreateAdd(lower(l, *expr.args[1]), e.number(1));
        llvm::Value* in_range = e.CreateAnd(e.CreateICmpSGT(limit, e.number(0)), e.CreateICmpSLT(limit, size));
        size = e.CreateSelect(in_range, limit, size);
    }
    llvm::Value* fault = l.target.memory().read_string(l.env, slot, size, address, !expr.facts.of_kernel);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::CopyFault, expr.range, address);
}

llvm::Value* emit_user_string(Lowerer& l, const hir::Intrinsic& expr) {
    llvm::Value* slot = l.new_slot();
    read_string_into(l, expr, slot);
    return slot;
}

llvm::Value* emit_user_array_quoted(Lowerer& l, const hir::Intrinsic& expr) {
    llvm::Value* result = l.new_slot();
    Mark mark(l);
    llvm::Value* text = emit_user_string(l, expr);
    l.e.routine("sonde_rt_text", l.e.i64(), {result, text, l.e.number(-1), l.e.number(-1), l.e.number(1)});
    return result;
}

llvm::Value* emit_user_string_quoted(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* result = l.new_slot();
    Mark mark(l);
    llvm::Value* slot = l.new_slot();
    llvm::Value* address = lower(l, *expr.args[0]);
    llvm::Value* most = expr.args.size() == 3 ? lower(l, *expr.args[2]) : e.number(-1);
    llvm::Value* fault = l.target.memory().read_string(l.env, slot, e.number(static_cast<int64_t>(l.max_string())),
                                                       address, !expr.facts.of_kernel);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::CopyFault, expr.range, address);
    e.routine("sonde_rt_text", e.i64(), {result, slot, lower(l, *expr.args[1]), most, e.number(1)});
    return result;
}

// A quoted string. If the address cannot be read, the address in hexadecimal instead of an error.
llvm::Value* emit_user_text(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* result = l.new_slot();
    Mark mark(l);
    llvm::Value* slot = l.new_slot();
    llvm::Value* address = lower(l, *expr.args[0]);
    llvm::Value* fault = l.target.memory().read_string(l.env, slot, e.number(static_cast<int64_t>(l.max_string())),
                                                       address, !expr.facts.of_kernel);
    llvm::BasicBlock *there = e.block("text"), *missing = e.block("address"), *end = e.block("endtext");
    e.CreateCondBr(e.CreateICmpEQ(fault, e.number(0)), there, missing);
    e.SetInsertPoint(there);
    e.routine("sonde_rt_text", e.i64(), {result, slot, e.number(-1), e.number(-1), e.number(1)});
    e.CreateBr(end);
    e.SetInsertPoint(missing);
    e.CreateStore(e.getInt8(0), result);
    e.routine("sonde_rt_append_long", e.i64(), {result, e.number(0), address, e.number('x' | '#' << 8)});
    e.CreateBr(end);
    e.SetInsertPoint(end);
    return result;
}

llvm::Value* emit_user_wide(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* slot = l.new_slot();
    bool is_16 = expr.name.ends_with("utf16");
    llvm::Value* address = lower(l, *expr.args[0]);
    if (expr.facts.of_kernel && !e.in_kernel())
        raise_if(l, e.getTrue(),
                 is_16 ? "a host handler cannot read the kernel's UTF-16 string at %#x"
                       : "a host handler cannot read the kernel's UTF-32 string at %#x",
                 expr.range, address);
    llvm::Value* status = l.target.memory().read_wide(l.env, slot, is_16 ? 2 : 4, address, !expr.facts.of_kernel);
    raise_if(l, e.CreateICmpEQ(status, e.number(1)), plan::ErrorId::CopyFault, expr.range, address);
    raise_if(l, e.CreateICmpNE(status, e.number(0)),
             is_16 ? "invalid UTF-16 string at %#x" : "invalid UTF-32 string at %#x", expr.range, address);
    return slot;
}

// A quoted buffer of a given size, which may contain NULs.
llvm::Value* emit_user_buffer_quoted(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    llvm::Value* result = l.new_slot();
    Mark mark(l);
    llvm::Value* slot = l.new_slot();
    llvm::Value* address = lower(l, *expr.args[0]);
    llvm::Value* size = lower(l, *expr.args[1]);
    llvm::Value* most = e.number(static_cast<int64_t>(l.max_string() - 1));
    size = e.CreateSelect(e.CreateICmpSLT(size, e.number(0)), e.number(0), size);
    size = e.CreateSelect(e.CreateICmpSGT(size, most), most, size);
    llvm::Value* fault = l.target.memory().read_block(l.env, slot, size, address);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::ReadFault, expr.range, address);
    e.routine("sonde_rt_text", e.i64(), {result, slot, size, lower(l, *expr.args[2]), e.number(3)});
    return result;
}

llvm::Value* emit_user_load(Lowerer& l, const hir::Intrinsic& expr) {
    if (expr.args[1]->kind != hir::ExprKind::ConstLong || expr.args[2]->kind != hir::ExprKind::ConstLong) {
        l.fail(expr.range, fmt::format("`{}` needs literal sizes", expr.name));
        return l.e.number(0);
    }
    hir::Load load_expr(expr.range, expr.args[0], static_cast<uint32_t>(hir::as<hir::ConstLong>(*expr.args[1]).value),
                        hir::as<hir::ConstLong>(*expr.args[2]).value != 0);
    load_expr.user = !expr.facts.of_kernel;
    return load(l, load_expr, lower(l, *load_expr.address));
}

llvm::Value* emit_set_user(Lowerer& l, const hir::Intrinsic& expr) {
    llvm::Value* address = lower(l, *expr.args[0]);
    write_memory(l, address, lower(l, *expr.args[1]), expr.facts.size, expr.range, expr.name);
    return l.e.number(0);
}

// Writes a string with its NUL, or at most n bytes of both.
llvm::Value* emit_set_user_string(Lowerer& l, const hir::Intrinsic& expr) {
    Emitter& e = l.e;
    Mark mark(l);
    llvm::Value* address = lower(l, *expr.args[0]);
    llvm::Value* slot = l.new_slot();
    llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {slot, lower(l, *expr.args.back())});
    llvm::Value* size = e.CreateAdd(length, e.number(1));
    if (expr.args.size() == 3) {
        llvm::Value* most = lower(l, *expr.args[1]);
        most = e.CreateSelect(e.CreateICmpSLT(most, e.number(0)), e.number(0), most);
        size = e.CreateSelect(e.CreateICmpSLT(most, size), most, size);
    }
    note_write(l, expr.range, expr.name);
    llvm::Value* fault = l.target.memory().write_block(l.env, slot, size, address);
    raise_if(l, e.CreateICmpNE(fault, e.number(0)), plan::ErrorId::WriteFault, expr.range, address);
    return e.number(0);
}

} // namespace sonde
