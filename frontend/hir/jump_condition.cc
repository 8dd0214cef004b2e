// An x86 jump such as `jle` tests flags: it jumps if the zero flag is set, or if the sign flag differs from the
// overflow flag. For the condition 14 (`le`), the result is the expression
//
//     (flags & ZF) != 0 || ((flags & SF) != 0) != ((flags & OF) != 0)
//
// An odd number is the opposite of the even number before it, so 15 (`g`) is the negation of this.
#include "frontend/hir/jump_condition.h"

namespace sonde::hir {
namespace {

class Flags {
  public:
    Flags(Arena& arena, Range range) : arena_(arena), range_(range) {}

    Expr* hold(const FlagsCondition& condition) const {
        Expr* any = condition.any_set ? is_set(condition.any_set) : nullptr;
        if (!condition.differ[0])
            return any;
        Expr* differ = binary(BinaryOp::Ne, is_set(condition.differ[0]), is_set(condition.differ[1]));
        return any ? arena_.make<Logical>(range_, false, any, differ) : differ;
    }

  private:
    Expr* number(int64_t value) const { return arena_.make<ConstLong>(range_, value); }
    Expr* binary(BinaryOp op, Expr* left, Expr* right) const { return arena_.make<Binary>(range_, op, left, right); }
    Expr* is_set(uint64_t any) const {
        auto* flags = arena_.make<Register>(range_, flags_register);
        return binary(BinaryOp::Ne, binary(BinaryOp::And, flags, number(static_cast<int64_t>(any))), number(0));
    }

    Arena& arena_;
    Range range_;
};

} // namespace

Expr* is_jump_taken(Arena& arena, Range range, const RegisterFile& registers, uint8_t condition) {
    Expr* holds = Flags(arena, range).hold(registers.conditions[condition >> 1]);
    return condition % 2 == 0 ? holds : arena.make<Unary>(range, UnaryOp::Not, holds);
}

} // namespace sonde::hir
