// Lowers expressions.
//
// A number is an i64 in a register. A string is a pointer to memory that ends with a NUL, in one of two forms:
//
// * lower() returns any memory, for example a constant or a variable. It may not be changed.
// * lower_slot() returns a slot, which has room after the string. Routines need slots, because the verifier requires
//   constant bounds (codegen/rtlib/rt.h).
//
// lower_into() is a third form that saves a copy: it builds the string directly in the slot of its destination. In `s =
// a . b`, the concatenation writes to the variable itself.
//
// The order of evaluation is from left to right, and an operand keeps its value even if a later operand changes the
// variable:
//
//     f(x, x++)
//
// The first `x` is the old value. For numbers, a register has it anyway. For strings, sema marks the variable
// (Local::assigned_within), and each read then makes a copy.
//
// Numbers that are needed across a call are stored in the frame (Lowerer::hold()). Otherwise LLVM would spill them to
// the BPF stack, which the verifier compares byte by byte.
#include "codegen/lower/expr.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "codegen/emit/texts.h"
#include "codegen/lower/array.h"
#include "codegen/lower/assign.h"
#include "codegen/lower/constant_texts.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/function.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/primitives.h"
#include "codegen/lower/print.h"
#include "codegen/lower/read_string.h"
#include "codegen/lower/regex.h"
#include "codegen/lower/registers.h"
#include "codegen/lower/strings.h"

namespace sonde {

using hir::BinaryOp;
using hir::ValueType;

namespace {

// The value of an expression without a result: 0 or "".
llvm::Value* nothing_as(Lowerer& l, ValueType type) {
    Emitter& e = l.e;
    if (type != ValueType::String)
        return e.number(0);
    llvm::Value* slot = l.new_slot();
    e.CreateStore(e.getInt8(0), slot);
    return slot;
}

llvm::Value* lower_binary(Lowerer& l, const hir::Binary& expr) {
    Emitter& e = l.e;
    if (expr.op >= BinaryOp::Eq && expr.left->type == ValueType::String) {
        Mark mark(l);
        llvm::Value* left = lower_slot(l, *expr.left);
        llvm::Value* right = lower_slot(l, *expr.right);
        llvm::Value* order = e.routine("sonde_rt_compare", e.i64(), {left, right});
        return arithmetic(l, expr.op, order, e.number(0), expr.range);
    }
    Mark mark(l);
    Held left = l.hold(lower(l, *expr.left), {&expr.right, 1});
    llvm::Value* right = lower(l, *expr.right);
    return arithmetic(l, expr.op, l.take(left), right, expr.range);
}

// `a && b` and `a || b`. The right side is evaluated only if the left side does not decide. It may have no value, as in
// `a && next_function()` with a function that returns nothing.
llvm::Value* lower_logical(Lowerer& l, const hir::Logical& expr) {
    Emitter& e = l.e;
    llvm::Value* result = e.stack(8);
    llvm::BasicBlock *right = e.block("right"), *end = e.block("endlogical");
    llvm::Value* left = truth(l, *expr.left);
    e.CreateStore(e.CreateZExt(left, e.i64()), result);
    if (expr.is_and)
        e.CreateCondBr(left, right, end);
    else
        e.CreateCondBr(left, end, right);
    e.SetInsertPoint(right);
    if (expr.right->type == ValueType::Void) {
        lower(l, *expr.right);
        e.CreateStore(e.number(0), result);
    } else {
        e.CreateStore(e.CreateZExt(truth(l, *expr.right), e.i64()), result);
    }
    e.CreateBr(end);
    e.SetInsertPoint(end);
    return e.CreateLoad(e.i64(), result);
}

// `a . b . c` is built in one slot.
llvm::Value* lower_concat(Lowerer& l, const hir::Concat& expr, llvm::Value* slot) {
    Emitter& e = l.e;
    std::vector<const hir::Expr*> parts;
    const hir::Expr* at = &expr;
    while (at->kind == hir::ExprKind::Concat) {
        parts.insert(parts.begin(), hir::as<hir::Concat>(*at).right);
        at = hir::as<hir::Concat>(*at).left;
    }
    parts.insert(parts.begin(), at);
    llvm::Value* length = nullptr;
    for (const hir::Expr* part : parts) {
        Mark mark(l);
        Held before = l.hold(length ? length : e.number(0), {&part, 1});
        llvm::Value* text = lower(l, *part);
        if (length)
            length = l.take(before);
        length = length ? e.routine("sonde_rt_append", e.i64(), {slot, length, text}) : copy_text(l, slot, text);
    }
    return slot;
}

// A string result is written to the slot.
llvm::Value* lower_ternary(Lowerer& l, const hir::Ternary& expr, llvm::Value* slot) {
    Emitter& e = l.e;
    bool string = expr.type == ValueType::String;
    llvm::Value* result = string ? slot : e.stack(8);
    llvm::BasicBlock *yes = e.block("then"), *no = e.block("else"), *end = e.block("endternary");
    e.CreateCondBr(truth(l, *expr.condition), yes, no);
    for (auto [at, value] : {std::pair(yes, expr.then_value), std::pair(no, expr.else_value)}) {
        e.SetInsertPoint(at);
        Mark mark(l);
        if (string)
            lower_into(l, *value, result);
        else if (llvm::Value* chosen = lower(l, *value); expr.type == ValueType::Long)
            e.CreateStore(chosen, result);
        e.CreateBr(end);
    }
    e.SetInsertPoint(end);
    if (expr.type == ValueType::Void) // the value is unused
        return e.number(0);
    return string ? result : e.CreateLoad(e.i64(), result);
}

// A text with an alternative: if the first expression raises an error, the second one is used. An error that `try`
// cannot catch leaves the handler nevertheless.
llvm::Value* lower_guarded(Lowerer& l, const hir::Guarded& expr, llvm::Value* slot) {
    Emitter& e = l.e;
    llvm::BasicBlock *caught = e.block("unreadable"), *handle = e.block("otherwise"), *end = e.block("guarded");
    llvm::BasicBlock* outer = l.on_error;
    auto give = [&](const hir::Expr& text) {
        Mark mark(l);
        lower_into(l, text, slot);
        e.CreateBr(end);
    };
    l.on_error = caught;
    give(*expr.text);
    l.on_error = outer;
    e.SetInsertPoint(caught);
    e.CreateCondBr(is_past_catching(l), outer, handle);
    e.SetInsertPoint(handle);
    give(*expr.otherwise);
    e.SetInsertPoint(end);
    return slot;
}

// An assignment to memory of a program, such as `$p->x = 1`. Its value is the number that was assigned.
llvm::Value* lower_store(Lowerer& l, const hir::Store& expr) {
    llvm::Value* value = lower(l, *expr.value);
    write_memory(l, lower(l, *expr.address), value, expr.size, expr.range, expr.what);
    return value;
}

} // namespace

llvm::Value* lower(Lowerer& l, const hir::Expr& expr) {
    Emitter& e = l.e;
    using namespace hir;
    switch (expr.kind) {
    case ExprKind::ConstLong:
        return e.number(as<ConstLong>(expr).value);
    case ExprKind::ConstString:
        return e.literal(as<ConstString>(expr).value);
    case ExprKind::LocalRef: {
        if (const Expr* text = see_through(&expr); text != &expr)
            return lower(l, *text);
        llvm::Value* variable = l.locals[as<LocalRef>(expr).local];
        CHECK(variable);
        if (expr.type != ValueType::String)
            return e.CreateLoad(e.i64(), variable);
        return as<LocalRef>(expr).local->assigned_within ? copy_of(l, variable) : variable;
    }
    case ExprKind::GlobalRef: {
        llvm::Value* address = global_address(l, *as<GlobalRef>(expr).global);
        return expr.type == ValueType::Long ? e.CreateLoad(e.i64(), address) : copy_of(l, address);
    }
    case ExprKind::Element:
        return read_element(l, as<Element>(expr));
    case ExprKind::Unary: {
        llvm::Value* value = lower(l, *as<Unary>(expr).operand);
        switch (as<Unary>(expr).op) {
        case UnaryOp::Minus:
            return e.CreateNeg(value);
        case UnaryOp::BitNot:
            return e.CreateNot(value);
        case UnaryOp::Not:
            return e.CreateZExt(e.CreateICmpEQ(value, e.number(0)), e.i64());
        }
        UNREACHABLE("unary operator");
    }
    case ExprKind::Binary:
        return lower_binary(l, as<Binary>(expr));
    case ExprKind::Logical:
        return lower_logical(l, as<Logical>(expr));
    case ExprKind::Concat:
        return lower_concat(l, as<Concat>(expr), l.new_slot());
    case ExprKind::Ternary:
        return lower_ternary(l, as<Ternary>(expr), expr.type == ValueType::String ? l.new_slot() : nullptr);
    case ExprKind::Guarded:
        return lower_guarded(l, as<Guarded>(expr), l.new_slot());
    case ExprKind::Assign:
        return lower_assign(l, as<Assign>(expr));
    case ExprKind::StatAdd:
        return lower_stat_add(l, as<StatAdd>(expr));
    case ExprKind::StatRead:
        return read_statistic(l, as<StatRead>(expr));
    case ExprKind::HistBucket:
        return read_bucket(l, as<HistBucket>(expr));
    case ExprKind::Contains: {
        const auto& test = as<Contains>(expr);
        uint64_t mask = 0;
        llvm::Value* key = compose_key(l, *test.array, test.keys, &mask);
        return l.target.arrays().contains(l.env, *test.array, key, mask);
    }
    case ExprKind::Regex: {
        Mark mark(l);
        const auto& regex = as<Regex>(expr);
        return match_regex(l, regex, needs_slot(regex) ? lower_slot(l, *regex.subject) : lower(l, *regex.subject));
    }
    case ExprKind::Call:
        return lower_call(l, as<Call>(expr));
    case ExprKind::Intrinsic: {
        llvm::Value* value = lower_primitive(l, as<Intrinsic>(expr));
        return as<Intrinsic>(expr).gives_nothing ? nothing_as(l, expr.type) : value;
    }
    case ExprKind::Print: {
        llvm::Value* value = lower_print(l, as<Print>(expr));
        return as<Print>(expr).to_string ? value : nothing_as(l, expr.type);
    }
    case ExprKind::Register:
        return read_register(l, as<Register>(expr).number);
    case ExprKind::Argument:
        return l.target.registers().argument(l.env, as<Argument>(expr).number);
    case ExprKind::Load:
        return load(l, as<Load>(expr), lower(l, *as<Load>(expr).address));
    case ExprKind::Store:
        return lower_store(l, as<Store>(expr));
    case ExprKind::EntryRead:
        return l.target.entry_values().load(*l.handler, as<EntryRead>(expr).index,
                                            expr.type == ValueType::String ? l.new_slot() : nullptr);
    case ExprKind::TextNumber:
        return text_number(l, *as<TextNumber>(expr).text);
    case ExprKind::NumberedText:
        return numbered_text(e, lower(l, *as<NumberedText>(expr).number));
    case ExprKind::PointNumber:
        return point_number(e, l.env.row);
    case ExprKind::TableWord:
        return table_word(e, *as<TableWord>(expr).table, lower(l, *as<TableWord>(expr).index));
    case ExprKind::Retype: {
        const auto& retype = as<Retype>(expr);
        llvm::Value* value = lower(l, *retype.operand);
        if (retype.size >= 8)
            return value;
        llvm::Value* narrow = e.CreateTrunc(value, e.getIntNTy(retype.size * 8));
        return retype.is_signed ? e.CreateSExt(narrow, e.i64()) : e.CreateZExt(narrow, e.i64());
    }
    }
    UNREACHABLE("expression kind");
}

llvm::Value* lower_slot(Lowerer& l, const hir::Expr& reference) {
    using hir::ExprKind;
    const hir::Expr& expr = *see_through(&reference);
    bool is_slot = expr.kind == ExprKind::LocalRef || expr.kind == ExprKind::EntryRead ||
                   expr.kind == ExprKind::Concat || expr.kind == ExprKind::Print || expr.kind == ExprKind::Element ||
                   expr.kind == ExprKind::Call || expr.kind == ExprKind::Guarded || expr.kind == ExprKind::Intrinsic;
    if (expr.kind == ExprKind::Intrinsic) {
        // Constants of the module, texts in tables, and texts in the data area are not in slots.
        const hir::Primitive& facts = hir::as<hir::Intrinsic>(expr).facts;
        is_slot = facts.text == hir::PointText::None && !facts.in_table && facts.word == hir::Primitive::no_word;
    }
    llvm::Value* value = lower(l, expr);
    if (is_slot)
        return value;
    llvm::Value* slot = l.new_slot();
    store_string(l, slot, value);
    return slot;
}

llvm::Value* truth(Lowerer& l, const hir::Expr& expr) {
    Emitter& e = l.e;
    // The comparison's i1 is used directly.
    if (expr.kind == hir::ExprKind::Binary && hir::as<hir::Binary>(expr).op >= BinaryOp::Eq) {
        llvm::Value* value = lower_binary(l, hir::as<hir::Binary>(expr));
        return e.CreateICmpNE(value, e.number(0));
    }
    return e.CreateICmpNE(lower(l, expr), e.number(0));
}

llvm::Value* arithmetic(Lowerer& l, BinaryOp op, llvm::Value* a, llvm::Value* b, Range range) {
    Emitter& e = l.e;
    auto boolean = [&](llvm::CmpInst::Predicate predicate) {
        return e.CreateZExt(e.CreateICmp(predicate, a, b), e.i64());
    };
    switch (op) {
    case BinaryOp::Add:
        return e.CreateAdd(a, b);
    case BinaryOp::Sub:
        return e.CreateSub(a, b);
    case BinaryOp::Mul:
        return e.CreateMul(a, b);
    case BinaryOp::Div:
    case BinaryOp::Mod: {
        if (!llvm::isa<llvm::ConstantInt>(b) || llvm::cast<llvm::ConstantInt>(b)->isZero())
            raise_if(l, e.CreateICmpEQ(b, e.number(0)), "division by 0", range);
        // Divides the magnitudes as unsigned numbers and adds the sign. BPF has no signed division before v4, and x /
        // -1 must not trap.
        llvm::Value *zero = e.number(0), *a_negative = e.CreateICmpSLT(a, zero), *b_negative = e.CreateICmpSLT(b, zero);
        llvm::Value* x = e.CreateSelect(a_negative, e.CreateNeg(a), a);
        llvm::Value* y = e.CreateSelect(b_negative, e.CreateNeg(b), b);
        if (op == BinaryOp::Div) {
            llvm::Value* quotient = e.CreateUDiv(x, y);
            return e.CreateSelect(e.CreateXor(a_negative, b_negative), e.CreateNeg(quotient), quotient);
        }
        llvm::Value* rest = e.CreateURem(x, y);
        return e.CreateSelect(a_negative, e.CreateNeg(rest), rest);
    }
    case BinaryOp::Shl:
        return e.CreateShl(a, e.CreateAnd(b, e.number(63)));
    case BinaryOp::Shr:
        return e.CreateAShr(a, e.CreateAnd(b, e.number(63)));
    case BinaryOp::ShrLogical:
        return e.CreateLShr(a, e.CreateAnd(b, e.number(63)));
    case BinaryOp::And:
        return e.CreateAnd(a, b);
    case BinaryOp::Or:
        return e.CreateOr(a, b);
    case BinaryOp::Xor:
        return e.CreateXor(a, b);
    case BinaryOp::Eq:
        return boolean(llvm::CmpInst::ICMP_EQ);
    case BinaryOp::Ne:
        return boolean(llvm::CmpInst::ICMP_NE);
    case BinaryOp::Lt:
        return boolean(llvm::CmpInst::ICMP_SLT);
    case BinaryOp::Le:
        return boolean(llvm::CmpInst::ICMP_SLE);
    case BinaryOp::Gt:
        return boolean(llvm::CmpInst::ICMP_SGT);
    case BinaryOp::Ge:
        return boolean(llvm::CmpInst::ICMP_SGE);
    }
    UNREACHABLE("binary operator");
}

void lower_into(Lowerer& l, const hir::Expr& expr, llvm::Value* slot) {
    if (expr.kind == hir::ExprKind::Print)
        print_into(l, hir::as<hir::Print>(expr), slot);
    else if (expr.kind == hir::ExprKind::Concat)
        lower_concat(l, hir::as<hir::Concat>(expr), slot);
    else if (expr.kind == hir::ExprKind::Ternary)
        lower_ternary(l, hir::as<hir::Ternary>(expr), slot);
    else if (expr.kind == hir::ExprKind::Guarded)
        lower_guarded(l, hir::as<hir::Guarded>(expr), slot);
    else if (expr.kind == hir::ExprKind::Call && !hir::as<hir::Call>(expr).callee->recursive)
        lower_call(l, hir::as<hir::Call>(expr), slot);
    else if (expr.kind == hir::ExprKind::Intrinsic && reads_string(hir::as<hir::Intrinsic>(expr)))
        read_string_into(l, hir::as<hir::Intrinsic>(expr), slot);
    else
        store_string(l, slot, lower(l, expr));
}

} // namespace sonde
