#include "codegen/lower/lowerer.h"

#include <fmt/format.h>

namespace sonde {

using hir::ValueType;

namespace {

// What is computed in registers alone.
bool is_plain(const hir::Expr& expr) {
    using hir::ExprKind;
    switch (expr.kind) {
    case ExprKind::ConstLong:
    case ExprKind::ConstString:
        return true;
    case ExprKind::LocalRef:
    case ExprKind::GlobalRef:
        return expr.type == ValueType::Long;
    case ExprKind::Unary:
        return is_plain(*hir::as<hir::Unary>(expr).operand);
    case ExprKind::Binary: {
        const auto& e = hir::as<hir::Binary>(expr);
        return e.left->type == ValueType::Long && is_plain(*e.left) && is_plain(*e.right);
    }
    default:
        return false;
    }
}

} // namespace

void Lowerer::fail(Range range, const std::string& what) {
    if (problem.empty())
        problem = fmt::format("{} at {}", what, e.state().sources.place(range));
}

void Lowerer::branch_to(llvm::BasicBlock* target) {
    if (!e.GetInsertBlock()->getTerminator())
        e.CreateBr(target);
}

llvm::Value* Lowerer::new_bytes(uint64_t size) { return e.offset(env.frame, frame.take((size + 7) & ~7ull)); }

llvm::Value* Lowerer::new_slot() { return new_bytes(e.slot_size()); }

llvm::Value* Lowerer::scratch(const std::string& tag, uint64_t bytes) {
    return env.has_frame ? new_bytes(bytes) : e.scratch(tag, bytes);
}

// The verifier remembers what a handler leaves on the stack, not what it leaves in its frame: what differs there does
// not keep it from seeing that two ways through the handler have met.
llvm::Value* Lowerer::new_variable(uint64_t bytes) {
    return e.in_kernel() && env.has_frame ? new_bytes(bytes) : e.stack(bytes);
}

// What outlives a call the compiler would keep on the stack, and its leavings there keep two ways through a loop from
// being the same to the verifier.
Held Lowerer::hold(llvm::Value* number, std::span<const hir::Expr* const> next) {
    if (!e.in_kernel() || !env.has_frame || llvm::isa<llvm::Constant>(number) ||
        std::all_of(next.begin(), next.end(), [](const hir::Expr* one) { return is_plain(*one); }))
        return {number, false};
    llvm::Value* place = new_bytes(8);
    e.CreateStore(number, place);
    return {place, true};
}

llvm::Value* Lowerer::take(const Held& held) {
    if (!held.in_frame)
        return held.value;
    auto* number = e.CreateLoad(e.i64(), held.value);
    number->setVolatile(true);
    return number;
}

} // namespace sonde
