// Expressions.
#include "codegen/lower/lower.h"
#include "codegen/statistics.h"
#include "codegen/texts.h"

#include <fmt/format.h>

#include "base/check.h"

namespace sonde {

using hir::BinaryOp;
using hir::ValueType;

void Lowering::store_string(llvm::Value* destination, llvm::Value* source) {
    e_.routine("sonde_rt_copy", e_.i64(), {destination, source});
}

llvm::Value* Lowering::copy_of(llvm::Value* string) {
    llvm::Value* slot = new_slot();
    store_string(slot, string);
    return slot;
}

namespace {
std::string overflow_of(const hir::Global& array) {
    return array.has_own_capacity ? fmt::format("Array overflow, check size limit ({})", array.capacity)
                                  : "Array overflow, check MAXMAPENTRIES";
}
} // namespace

llvm::Value* Lowering::global_address(const hir::Global& global) {
    return e_.offset(env_.data, e_.state().plan.globals[global.index].offset);
}

llvm::Value* Lowering::truth(const hir::Expr& expr) {
    // Comparisons need no 0 or 1 in between.
    if (expr.kind == hir::ExprKind::Binary && hir::as<hir::Binary>(expr).op >= BinaryOp::Eq) {
        llvm::Value* value = binary(hir::as<hir::Binary>(expr));
        return e_.CreateICmpNE(value, e_.number(0));
    }
    return e_.CreateICmpNE(lower(expr), e_.number(0));
}

llvm::Value* Lowering::lower_slot(const hir::Expr& reference) {
    using hir::ExprKind;
    const hir::Expr& expr = *see_through(&reference);
    bool is_slot = expr.kind == ExprKind::LocalRef || expr.kind == ExprKind::EntryRead ||
                   expr.kind == ExprKind::Concat || expr.kind == ExprKind::Print || expr.kind == ExprKind::Element ||
                   expr.kind == ExprKind::Call || expr.kind == ExprKind::Guarded || expr.kind == ExprKind::Intrinsic;
    // Constants of the module, cells of tables, and a text of the data area.
    if (expr.kind == ExprKind::Intrinsic)
        for (const char* name : {"pp", "pn", "probefunc", "ppfunc", "probe_type", "tz_name", "__name"})
            is_slot = is_slot && hir::as<hir::Intrinsic>(expr).name != name;
    llvm::Value* value = lower(expr);
    if (is_slot)
        return value;
    llvm::Value* slot = new_slot();
    store_string(slot, value);
    return slot;
}

llvm::Value* Lowering::lower(const hir::Expr& expr) {
    using namespace hir;
    switch (expr.kind) {
    case ExprKind::ConstLong:
        return e_.number(as<ConstLong>(expr).value);
    case ExprKind::ConstString:
        return e_.literal(as<ConstString>(expr).value);
    case ExprKind::LocalRef: {
        if (const Expr* text = see_through(&expr); text != &expr)
            return lower(*text);
        llvm::Value* variable = locals_[as<LocalRef>(expr).local];
        CHECK(variable);
        if (expr.type != ValueType::String)
            return e_.CreateLoad(e_.i64(), variable);
        return as<LocalRef>(expr).local->assigned_within ? copy_of(variable) : variable;
    }
    case ExprKind::GlobalRef: {
        llvm::Value* address = global_address(*as<GlobalRef>(expr).global);
        return expr.type == ValueType::Long ? e_.CreateLoad(e_.i64(), address) : copy_of(address);
    }
    case ExprKind::Element:
        return read_element(as<Element>(expr));
    case ExprKind::Unary: {
        llvm::Value* value = lower(*as<Unary>(expr).operand);
        switch (as<Unary>(expr).op) {
        case UnaryOp::Minus:
            return e_.CreateNeg(value);
        case UnaryOp::BitNot:
            return e_.CreateNot(value);
        case UnaryOp::Not:
            return e_.CreateZExt(e_.CreateICmpEQ(value, e_.number(0)), e_.i64());
        }
        UNREACHABLE("unary operator");
    }
    case ExprKind::Binary:
        return binary(as<Binary>(expr));
    case ExprKind::Logical: {
        const auto& e = as<Logical>(expr);
        llvm::Value* result = e_.stack(8);
        llvm::BasicBlock *right = e_.block("right"), *end = e_.block("endlogical");
        llvm::Value* left = truth(*e.left);
        e_.CreateStore(e_.CreateZExt(left, e_.i64()), result);
        if (e.is_and)
            e_.CreateCondBr(left, right, end);
        else
            e_.CreateCondBr(left, end, right);
        e_.SetInsertPoint(right);
        if (e.right->type == ValueType::Void) {
            lower(*e.right);
            e_.CreateStore(e_.number(0), result);
        } else {
            e_.CreateStore(e_.CreateZExt(truth(*e.right), e_.i64()), result);
        }
        e_.CreateBr(end);
        e_.SetInsertPoint(end);
        return e_.CreateLoad(e_.i64(), result);
    }
    case ExprKind::Concat: {
        // a . b . c is built in one slot.
        std::vector<const Expr*> parts;
        const Expr* at = &expr;
        while (at->kind == ExprKind::Concat) {
            parts.insert(parts.begin(), as<Concat>(*at).right);
            at = as<Concat>(*at).left;
        }
        parts.insert(parts.begin(), at);
        llvm::Value* slot = new_slot();
        llvm::Value* length = nullptr;
        for (const Expr* part : parts) {
            Mark mark(*this);
            Held before = hold(length ? length : e_.number(0), {&part, 1});
            llvm::Value* text = lower(*part);
            if (length)
                length = take(before);
            length = length ? e_.routine("sonde_rt_append", e_.i64(), {slot, length, text})
                            : e_.routine("sonde_rt_copy", e_.i64(), {slot, text});
        }
        return slot;
    }
    case ExprKind::Ternary:
        return ternary(as<Ternary>(expr));
    case ExprKind::Guarded:
        return guarded(as<Guarded>(expr));
    case ExprKind::Assign:
        return assign(as<Assign>(expr));
    case ExprKind::StatAdd: {
        const auto& e = as<StatAdd>(expr);
        llvm::Value* value = lower(*e.value);
        if (e.target->kind == ExprKind::GlobalRef) {
            const Global& global = *as<GlobalRef>(*e.target).global;
            add_to_statistic(e_, global_address(global), global.stats, value);
        } else {
            Mark mark(*this);
            const auto& element = as<Element>(*e.target);
            llvm::Value* key = compose_key(*element.array, element.keys, nullptr);
            llvm::Value* status = t_.arrays().add_to_statistic(env_, *element.array, key, value);
            raise_if(e_.CreateICmpNE(status, e_.number(0)), overflow_of(*element.array), element.range);
        }
        return value;
    }
    case ExprKind::StatRead:
        return stat_read(as<StatRead>(expr));
    case ExprKind::HistBucket:
        return hist_bucket(as<HistBucket>(expr));
    case ExprKind::Contains: {
        const auto& e = as<Contains>(expr);
        uint64_t mask = 0;
        llvm::Value* key = compose_key(*e.array, e.keys, &mask);
        return t_.arrays().contains(env_, *e.array, key, mask);
    }
    case ExprKind::Regex:
        return regex(as<Regex>(expr));
    case ExprKind::Call:
        return call(as<Call>(expr));
    case ExprKind::Intrinsic: {
        llvm::Value* value = intrinsic(as<Intrinsic>(expr));
        return as<Intrinsic>(expr).gives_nothing ? nothing_as(expr.type) : value;
    }
    case ExprKind::Print: {
        llvm::Value* value = print(as<Print>(expr));
        return as<Print>(expr).to_string ? value : nothing_as(expr.type);
    }
    case ExprKind::Register:
        return read_register(as<Register>(expr).number);
    case ExprKind::Argument:
        return t_.registers().argument(env_, as<Argument>(expr).number);
    case ExprKind::Load:
        return load(as<Load>(expr));
    case ExprKind::Store:
        return store(as<Store>(expr));
    case ExprKind::EntryRead:
        return t_.entry_values().load(*handler_, as<EntryRead>(expr).index,
                                      expr.type == ValueType::String ? new_slot() : nullptr);
    case ExprKind::TextNumber:
        return text_number(*as<TextNumber>(expr).text);
    case ExprKind::NumberedText:
        return numbered_text(e_, lower(*as<NumberedText>(expr).number));
    case ExprKind::Retype: {
        const auto& e = as<Retype>(expr);
        llvm::Value* value = lower(*e.operand);
        if (e.size >= 8)
            return value;
        llvm::Value* narrow = e_.CreateTrunc(value, e_.getIntNTy(e.size * 8));
        return e.is_signed ? e_.CreateSExt(narrow, e_.i64()) : e_.CreateZExt(narrow, e_.i64());
    }
    }
    UNREACHABLE("expression kind");
}

llvm::Value* Lowering::binary(const hir::Binary& expr) {
    if (expr.op >= BinaryOp::Eq && expr.left->type == ValueType::String) {
        Mark mark(*this);
        llvm::Value* left = lower_slot(*expr.left);
        llvm::Value* right = lower_slot(*expr.right);
        llvm::Value* order = e_.routine("sonde_rt_compare", e_.i64(), {left, right});
        return arithmetic(expr.op, order, e_.number(0), expr.range);
    }
    Mark mark(*this);
    Held left = hold(lower(*expr.left), {&expr.right, 1});
    llvm::Value* right = lower(*expr.right);
    return arithmetic(expr.op, take(left), right, expr.range);
}

llvm::Value* Lowering::arithmetic(BinaryOp op, llvm::Value* a, llvm::Value* b, Range range) {
    auto boolean = [&](llvm::CmpInst::Predicate predicate) {
        return e_.CreateZExt(e_.CreateICmp(predicate, a, b), e_.i64());
    };
    switch (op) {
    case BinaryOp::Add:
        return e_.CreateAdd(a, b);
    case BinaryOp::Sub:
        return e_.CreateSub(a, b);
    case BinaryOp::Mul:
        return e_.CreateMul(a, b);
    case BinaryOp::Div:
    case BinaryOp::Mod: {
        if (!llvm::isa<llvm::ConstantInt>(b) || llvm::cast<llvm::ConstantInt>(b)->isZero())
            raise_if(e_.CreateICmpEQ(b, e_.number(0)), "division by 0", range);
        // Signed division by unsigned division of magnitudes: BPF has only that before v4, and x / -1 must not trap.
        llvm::Value *zero = e_.number(0), *a_negative = e_.CreateICmpSLT(a, zero),
                    *b_negative = e_.CreateICmpSLT(b, zero);
        llvm::Value* x = e_.CreateSelect(a_negative, e_.CreateNeg(a), a);
        llvm::Value* y = e_.CreateSelect(b_negative, e_.CreateNeg(b), b);
        if (op == BinaryOp::Div) {
            llvm::Value* quotient = e_.CreateUDiv(x, y);
            return e_.CreateSelect(e_.CreateXor(a_negative, b_negative), e_.CreateNeg(quotient), quotient);
        }
        llvm::Value* rest = e_.CreateURem(x, y);
        return e_.CreateSelect(a_negative, e_.CreateNeg(rest), rest);
    }
    case BinaryOp::Shl:
        return e_.CreateShl(a, e_.CreateAnd(b, e_.number(63)));
    case BinaryOp::Shr:
        return e_.CreateAShr(a, e_.CreateAnd(b, e_.number(63)));
    case BinaryOp::ShrLogical:
        return e_.CreateLShr(a, e_.CreateAnd(b, e_.number(63)));
    case BinaryOp::And:
        return e_.CreateAnd(a, b);
    case BinaryOp::Or:
        return e_.CreateOr(a, b);
    case BinaryOp::Xor:
        return e_.CreateXor(a, b);
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

// The value of what gives none: 0 or "".
llvm::Value* Lowering::nothing_as(ValueType type) {
    if (type != ValueType::String)
        return e_.number(0);
    llvm::Value* slot = new_slot();
    e_.CreateStore(e_.getInt8(0), slot);
    return slot;
}

llvm::Value* Lowering::ternary(const hir::Ternary& expr) {
    bool string = expr.type == ValueType::String;
    llvm::Value* result = string ? new_slot() : e_.stack(8);
    llvm::BasicBlock *yes = e_.block("then"), *no = e_.block("else"), *end = e_.block("endternary");
    e_.CreateCondBr(truth(*expr.condition), yes, no);
    for (auto [at, value] : {std::pair(yes, expr.then_value), std::pair(no, expr.else_value)}) {
        e_.SetInsertPoint(at);
        Mark mark(*this);
        llvm::Value* chosen = lower(*value);
        if (string)
            store_string(result, chosen);
        else if (expr.type == ValueType::Long)
            e_.CreateStore(chosen, result);
        e_.CreateBr(end);
    }
    e_.SetInsertPoint(end);
    if (expr.type == ValueType::Void) // nobody uses it
        return e_.number(0);
    return string ? result : e_.CreateLoad(e_.i64(), result);
}

llvm::Value* Lowering::guarded(const hir::Guarded& expr) {
    llvm::Value* result = new_slot();
    llvm::BasicBlock *caught = e_.block("unreadable"), *handle = e_.block("otherwise"), *end = e_.block("guarded");
    llvm::BasicBlock* outer = catch_;
    auto take = [&](const hir::Expr& text) {
        Mark mark(*this);
        store_string(result, lower(text));
        e_.CreateBr(end);
    };
    catch_ = caught;
    take(*expr.text);
    catch_ = outer;
    e_.SetInsertPoint(caught);
    e_.CreateCondBr(is_past_catching(), outer, handle);
    e_.SetInsertPoint(handle);
    take(*expr.otherwise);
    e_.SetInsertPoint(end);
    return result;
}

namespace {
// The operators that the hardware applies atomically.
std::optional<llvm::AtomicRMWInst::BinOp> atomic_op(BinaryOp op) {
    switch (op) {
    case BinaryOp::Add:
        return llvm::AtomicRMWInst::Add;
    case BinaryOp::Sub:
        return llvm::AtomicRMWInst::Sub;
    case BinaryOp::And:
        return llvm::AtomicRMWInst::And;
    case BinaryOp::Or:
        return llvm::AtomicRMWInst::Or;
    case BinaryOp::Xor:
        return llvm::AtomicRMWInst::Xor;
    default:
        return std::nullopt;
    }
}
} // namespace

llvm::Value* Lowering::assign(const hir::Assign& expr) {
    using hir::ExprKind;
    const hir::Expr& target = *expr.target;
    bool string = target.type == ValueType::String;

    if (string) {
        llvm::Value* value = lower(*expr.value);
        if (target.kind == ExprKind::Element) {
            const auto& element = hir::as<hir::Element>(target);
            llvm::Value* slot = new_slot();
            Mark mark(*this);
            llvm::Value* key = compose_key(*element.array, element.keys, nullptr);
            if (expr.concat) {
                t_.arrays().load_string(env_, *element.array, key, slot);
                llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {slot, slot});
                e_.routine("sonde_rt_append", e_.i64(), {slot, length, value});
            } else {
                store_string(slot, value);
            }
            raise_if(e_.CreateICmpNE(t_.arrays().store_string(env_, *element.array, key, slot), e_.number(0)),
                     overflow_of(*element.array), element.range);
            return slot;
        }
        llvm::Value* destination = target.kind == ExprKind::LocalRef
                                       ? locals_[hir::as<hir::LocalRef>(target).local]
                                       : global_address(*hir::as<hir::GlobalRef>(target).global);
        if (expr.concat && target.kind == ExprKind::LocalRef) {
            if (value == destination) // x .= x must not read what it writes
                value = copy_of(value);
            // Only copying tells how long a string is.
            llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {new_slot(), destination});
            e_.routine("sonde_rt_append", e_.i64(), {destination, length, value});
        } else if (expr.concat) {
            llvm::Value* whole = new_slot();
            llvm::Value* length = e_.routine("sonde_rt_copy", e_.i64(), {whole, destination});
            e_.routine("sonde_rt_append", e_.i64(), {whole, length, value});
            store_string(destination, whole);
        } else {
            store_string(destination, value);
        }
        return expr.value_unused ? destination : copy_of(destination);
    }

    llvm::Value* value = lower(*expr.value);
    std::optional<llvm::AtomicRMWInst::BinOp> atomic = expr.op ? atomic_op(*expr.op) : std::nullopt;
    if (target.kind == ExprKind::Element) {
        const auto& element = hir::as<hir::Element>(target);
        Mark mark(*this);
        llvm::Value* key = compose_key(*element.array, element.keys, nullptr);
        if (atomic) {
            llvm::Value* old = nullptr;
            llvm::Value* status =
                t_.arrays().update(env_, *element.array, key, *atomic, value, expr.value_unused ? nullptr : &old);
            raise_if(e_.CreateICmpNE(status, e_.number(0)), overflow_of(*element.array), element.range);
            if (expr.value_unused)
                return e_.number(0);
            return expr.gives_old ? old : arithmetic(*expr.op, old, value, expr.range);
        }
        llvm::Value* old = expr.op ? t_.arrays().load_long(env_, *element.array, key) : nullptr;
        llvm::Value* fresh = expr.op ? arithmetic(*expr.op, old, value, expr.range) : value;
        raise_if(e_.CreateICmpNE(t_.arrays().store_long(env_, *element.array, key, fresh), e_.number(0)),
                 overflow_of(*element.array), element.range);
        return expr.gives_old ? old : fresh;
    }
    if (target.kind == ExprKind::GlobalRef) {
        llvm::Value* address = global_address(*hir::as<hir::GlobalRef>(target).global);
        if (atomic) {
            // BPF has no atomic subtraction that gives the old value: add the negative.
            llvm::AtomicRMWInst::BinOp op = *atomic;
            llvm::Value* operand = value;
            if (op == llvm::AtomicRMWInst::Sub) {
                op = llvm::AtomicRMWInst::Add;
                operand = e_.CreateNeg(value);
            }
            llvm::Value* old =
                e_.CreateAtomicRMW(op, address, operand, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
            if (expr.value_unused)
                return e_.number(0);
            return expr.gives_old ? old : arithmetic(*expr.op, old, value, expr.range);
        }
        llvm::Value* old = expr.op ? e_.CreateLoad(e_.i64(), address) : nullptr;
        llvm::Value* fresh = expr.op ? arithmetic(*expr.op, old, value, expr.range) : value;
        e_.CreateStore(fresh, address);
        return expr.gives_old ? old : fresh;
    }
    llvm::Value* variable = locals_[hir::as<hir::LocalRef>(target).local];
    llvm::Value* old = expr.op ? e_.CreateLoad(e_.i64(), variable) : nullptr;
    llvm::Value* fresh = expr.op ? arithmetic(*expr.op, old, value, expr.range) : value;
    e_.CreateStore(fresh, variable);
    return expr.gives_old ? old : fresh;
}

llvm::Value* Lowering::load(const hir::Load& expr) { return load(expr, lower(*expr.address)); }

llvm::Value* Lowering::load(const hir::Load& expr, llvm::Value* address) {
    llvm::Value* buffer = e_.scratch("load", 8);
    e_.CreateStore(e_.number(0), buffer);
    llvm::Value* fault = t_.memory().read(env_, buffer, expr.size, address, expr.user);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), "read fault [man error::fault] at %#x", expr.range, address);
    llvm::Type* narrow = e_.getIntNTy(expr.size * 8);
    llvm::Value* value = e_.CreateLoad(narrow, buffer);
    if (expr.bit_size) {
        llvm::Value* wide = e_.CreateZExt(value, e_.i64());
        wide = e_.CreateShl(wide, e_.number(64 - expr.bit_offset - expr.bit_size));
        return expr.is_signed ? e_.CreateAShr(wide, e_.number(64 - expr.bit_size))
                              : e_.CreateLShr(wide, e_.number(64 - expr.bit_size));
    }
    if (expr.size == 8)
        return value;
    return expr.is_signed ? e_.CreateSExt(value, e_.i64()) : e_.CreateZExt(value, e_.i64());
}

void Lowering::write_memory(llvm::Value* address, llvm::Value* value, uint32_t size, Range range,
                            const std::string& what) {
    llvm::Value* buffer = e_.scratch("store", 8);
    e_.CreateStore(value, buffer);
    note_write(range, what);
    llvm::Value* fault = t_.memory().write(env_, buffer, size, address);
    raise_if(e_.CreateICmpNE(fault, e_.number(0)), write_fault, range, address);
}

// The first one is named if the kernel does not allow any.
void Lowering::note_write(Range range, const std::string& what) {
    plan::Plan& plan = e_.state().plan;
    if (plan.writes.empty())
        plan.writes = fmt::format("`{}` at {}", what, e_.state().sources.place(range));
    if (!e_.in_kernel())
        fail(range, fmt::format("`{}`: sonde's own process, where this handler runs, writes no memory", what));
}

llvm::Value* Lowering::store(const hir::Store& expr) {
    llvm::Value* value = lower(*expr.value);
    write_memory(lower(*expr.address), value, expr.size, expr.range, expr.what);
    return value;
}

} // namespace sonde
