// A conditional jump tests flags or a register. For example, `jle` of x86-64 jumps if the zero flag is set, or if the
// sign flag differs from the overflow flag. The result is the expression
//
//     (flags & ZF) != 0 || ((flags & SF) != 0) != ((flags & OF) != 0)
//
// An odd number is the opposite of the even number before it, so `jg` is the negation of this.
#include "frontend/hir/jump_condition.h"

namespace sonde::hir {
namespace {

class Conditions {
  public:
    Conditions(Arena& arena, Range range) : arena_(arena), range_(range) {}

    Expr* hold(const FlagsCondition& condition) const {
        const auto flags = [&](BinaryOp op, uint64_t bits, uint64_t value) {
            return compare(op, flags_register, bits, value);
        };
        Expr* out = nullptr;
        const auto add = [&](Expr* one) { out = out ? arena_.make<Logical>(range_, false, out, one) : one; };
        if (condition.any_set)
            add(flags(BinaryOp::Ne, condition.any_set, 0));
        if (condition.any_clear)
            add(flags(BinaryOp::Ne, condition.any_clear, condition.any_clear));
        if (condition.differ[0])
            add(binary(BinaryOp::Ne, flags(BinaryOp::Ne, condition.differ[0], 0),
                       flags(BinaryOp::Ne, condition.differ[1], 0)));
        return condition.opposite ? negated(out) : out;
    }
    Expr* hold(const RegisterTest& test) const { return compare(BinaryOp::Eq, test.number, test.mask, test.value); }
    Expr* negated(Expr* condition) const { return arena_.make<Unary>(range_, UnaryOp::Not, condition); }

  private:
    Expr* number(uint64_t value) const { return arena_.make<ConstLong>(range_, static_cast<int64_t>(value)); }
    Expr* binary(BinaryOp op, Expr* left, Expr* right) const { return arena_.make<Binary>(range_, op, left, right); }
    // Compares the bits of a register with a value.
    Expr* compare(BinaryOp op, int reg, uint64_t bits, uint64_t value) const {
        return binary(op, binary(BinaryOp::And, arena_.make<Register>(range_, reg), number(bits)), number(value));
    }

    Arena& arena_;
    Range range_;
};

} // namespace

Expr* is_jump_taken(Arena& arena, Range range, const RegisterFile& registers, JumpCondition condition) {
    const Conditions conditions(arena, range);
    Expr* holds = condition >= first_register_condition ? conditions.hold(register_test(condition))
                                                        : conditions.hold(registers.conditions[condition / 2]);
    return condition % 2 == 0 ? holds : conditions.negated(holds);
}

} // namespace sonde::hir
