// The memory of a handler while it is lowered. lowerer.h describes the two kinds of memory.
//
// The functions here choose between the frame and the BPF stack. In the kernel the frame is preferred, for a reason
// that does not concern its size. When the verifier arrives at a place for the second time, it compares the state with
// that of the first time. If both are equal, it stops there. The state includes each byte of the stack, and also bytes
// that nobody reads again. It does not include the contents of the frame.
#include "codegen/lower/lowerer.h"

#include <fmt/format.h>

namespace sonde {

using hir::ValueType;

namespace {

// Whether the expression is computed in registers only.
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

// In the kernel, variables are in the frame if there is one. The verifier compares the contents of the stack, but not
// of the frame. So different leftovers in the frame do not keep it from recognizing that two paths have reached the
// same state.
llvm::Value* Lowerer::new_variable(uint64_t bytes) {
    return e.in_kernel() && env.has_frame ? new_bytes(bytes) : e.stack(bytes);
}

// Stores a number in the frame if code with calls follows. The compiler would spill it to the stack, where its
// leftovers make two paths through a loop look different to the verifier.
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
