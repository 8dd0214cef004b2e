// Assignments to variables, globals and array elements, with and without an operator.
//
// Handlers on other processors can change the same global at the same time. So `count++` and `n[k] += 2` must not be a
// load and a store: two handlers could load the same number, and one of the additions would be lost. Operators for
// which the hardware has an atomic instruction use it: + - & | ^. All others (`*=`, `/=`, `<<=`) load, compute and
// store. Handlers that use these share a lock, which frontend/passes/exclusion.cc decides.
//
// BPF has no atomic subtraction, so `x -= n` adds -n.
//
// The value of an assignment is the new number, except for `x++` and `x--`, whose value is the old one
// (Assign::gives_old). An atomic operation returns the old number. If the new one is needed, it is computed from the
// old one again, because another load could see a later value.
#include "codegen/lower/assign.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "codegen/emit/statistics.h"
#include "codegen/lower/array.h"
#include "codegen/lower/errors.h"
#include "codegen/lower/expr.h"
#include "codegen/lower/lowerer.h"
#include "codegen/lower/memory.h"
#include "codegen/lower/stack_keys.h"
#include "codegen/lower/strings.h"
#include "frontend/hir/walk.h"
#include "runtime/plan/array_maps.h"
#include "runtime/plan/host_api.h"

namespace sonde {

using hir::BinaryOp;
using hir::ExprKind;
using hir::ValueType;

namespace {

void raise_if_full(Lowerer& l, llvm::Value* status, const hir::Element& element) {
    const hir::Global& array = *element.array;
    if (plan::has_identities(l.e.state().plan.globals[array.index]))
        raise_if(l, l.e.CreateICmpEQ(status, l.e.number(HostSameIdentity)),
                 fmt::format("two keys of `{}` have the same hash of 128 bits", array.name), element.range);
    raise_if(l, l.e.CreateICmpNE(status, l.e.number(0)),
             array.has_own_capacity
                 ? plan::ErrorMessage(fmt::format("Array overflow, check size limit ({})", array.capacity))
                 : plan::ErrorId::ArrayFull,
             element.range);
}

// The atomic operation for this operator, if the hardware has one.
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

// Element strings are built in a slot and then stored as a whole. `.=` loads the old string first. The two steps are
// not atomic.
llvm::Value* assign_string_element(Lowerer& l, const hir::Assign& expr, const hir::Element& element,
                                   llvm::Value* value) {
    Emitter& e = l.e;
    Arrays& arrays = l.target.arrays();
    llvm::Value* slot = l.new_slot();
    Mark mark(l);
    llvm::Value* key = compose_key(l, *element.array, element.keys, nullptr);
    if (expr.concat) {
        arrays.load_string(l.env, *element.array, key, slot);
        llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {slot, slot});
        e.routine("sonde_rt_append", e.i64(), {slot, length, value});
    } else {
        store_string(l, slot, value);
    }
    raise_if_full(l, arrays.store_string(l.env, *element.array, key, slot), element);
    return slot;
}

llvm::Value* assign_string(Lowerer& l, const hir::Assign& expr, llvm::Value* value) {
    Emitter& e = l.e;
    const hir::Expr& target = *expr.target;
    llvm::Value* destination = target.kind == ExprKind::LocalRef
                                   ? l.locals[hir::as<hir::LocalRef>(target).local]
                                   : global_address(l, *hir::as<hir::GlobalRef>(target).global);
    if (expr.concat && target.kind == ExprKind::LocalRef) {
        if (value == destination) // `x .= x` must not read the string while it is written
            value = copy_of(l, value);
        // Only a copy yields the string's length.
        llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {l.new_slot(), destination});
        e.routine("sonde_rt_append", e.i64(), {destination, length, value});
    } else if (expr.concat) {
        llvm::Value* whole = l.new_slot();
        llvm::Value* length = e.routine("sonde_rt_copy", e.i64(), {whole, destination});
        e.routine("sonde_rt_append", e.i64(), {whole, length, value});
        store_string(l, destination, whole);
    } else {
        store_string(l, destination, value);
    }
    return expr.value_unused ? destination : copy_of(l, destination);
}

// The assignment's result, for an operator that was applied atomically.
llvm::Value* atomic_result(Lowerer& l, const hir::Assign& expr, llvm::Value* old, llvm::Value* value) {
    if (expr.value_unused)
        return l.e.number(0);
    return expr.gives_old ? old : arithmetic(l, *expr.op, old, value, expr.range);
}

llvm::Value* assign_element(Lowerer& l, const hir::Assign& expr, const hir::Element& element, llvm::Value* value) {
    Arrays& arrays = l.target.arrays();
    Mark mark(l);
    llvm::Value* key = compose_key(l, *element.array, element.keys, nullptr);
    llvm::Value* old = nullptr;
    if (std::optional<llvm::AtomicRMWInst::BinOp> atomic = expr.op ? atomic_op(*expr.op) : std::nullopt) {
        llvm::Value* status =
            arrays.update(l.env, *element.array, key, *atomic, value, expr.value_unused ? nullptr : &old);
        raise_if_full(l, status, element);
        return atomic_result(l, expr, old, value);
    }
    if (expr.op)
        old = arrays.load_long(l.env, *element.array, key);
    llvm::Value* fresh = expr.op ? arithmetic(l, *expr.op, old, value, expr.range) : value;
    raise_if_full(l, arrays.store_long(l.env, *element.array, key, fresh), element);
    return expr.gives_old ? old : fresh;
}

// A local, or a global without an atomic operator.
llvm::Value* assign_number(Lowerer& l, const hir::Assign& expr, llvm::Value* address, llvm::Value* value) {
    Emitter& e = l.e;
    llvm::Value* old = expr.op ? e.CreateLoad(e.i64(), address) : nullptr;
    llvm::Value* fresh = expr.op ? arithmetic(l, *expr.op, old, value, expr.range) : value;
    e.CreateStore(fresh, address);
    return expr.gives_old ? old : fresh;
}

llvm::Value* assign_global(Lowerer& l, const hir::Assign& expr, llvm::Value* value) {
    Emitter& e = l.e;
    llvm::Value* address = global_address(l, *hir::as<hir::GlobalRef>(*expr.target).global);
    std::optional<llvm::AtomicRMWInst::BinOp> atomic = expr.op ? atomic_op(*expr.op) : std::nullopt;
    if (!atomic)
        return assign_number(l, expr, address, value);
    // BPF has no atomic subtraction that returns the old value, so add the negative.
    const bool subtracts = *atomic == llvm::AtomicRMWInst::Sub;
    llvm::Value* operand = subtracts ? e.CreateNeg(value) : value;
    llvm::Value* old = e.CreateAtomicRMW(subtracts ? llvm::AtomicRMWInst::Add : *atomic, address, operand,
                                         llvm::Align(8), llvm::AtomicOrdering::Monotonic);
    return atomic_result(l, expr, old, value);
}

} // namespace

llvm::Value* lower_assign(Lowerer& l, const hir::Assign& expr) {
    const hir::Expr& target = *expr.target;
    const auto* element = target.kind == ExprKind::Element ? &hir::as<hir::Element>(target) : nullptr;
    const bool shared = l.e.in_kernel() && l.e.state().holders_of_shared.contains(variable_of(target));
    llvm::Value* value = shared ? shared_value(l, *expr.value) : lower(l, *expr.value);
    if (target.type == ValueType::String)
        return element ? assign_string_element(l, expr, *element, value) : assign_string(l, expr, value);
    if (element)
        return assign_element(l, expr, *element, value);
    if (target.kind == ExprKind::GlobalRef)
        return assign_global(l, expr, value);
    return assign_number(l, expr, l.locals[hir::as<hir::LocalRef>(target).local], value);
}

llvm::Value* lower_stat_add(Lowerer& l, const hir::StatAdd& expr) {
    llvm::Value* value = lower(l, *expr.value);
    if (expr.target->kind == ExprKind::GlobalRef) {
        const hir::Global& global = *hir::as<hir::GlobalRef>(*expr.target).global;
        add_to_statistic(l.e, global_address(l, global), global.stats, value);
    } else {
        Mark mark(l);
        const auto& element = hir::as<hir::Element>(*expr.target);
        llvm::Value* key = compose_key(l, *element.array, element.keys, nullptr);
        raise_if_full(l, l.target.arrays().add_to_statistic(l.env, *element.array, key, value), element);
    }
    return value;
}

} // namespace sonde
