#include "frontend/hir/jump_condition.h"

namespace sonde::hir {
namespace {

// Bits of the flags register (Intel SDM volume 1, section 3.4.3). Appendix B of that volume says which of them each
// condition tests.
constexpr int64_t carry = 1, parity = 4, zero = 0x40, sign = 0x80, overflow = 0x800;

// The 16 conditions of `jcc` are 8 pairs: an odd number is the opposite of the even number before it.
enum Condition { Overflow, Below, Equal, BelowOrEqual, Sign, Parity, Less, LessOrEqual };

class Flags {
  public:
    Flags(Arena& arena, Range range) : arena_(arena), range_(range) {}

    Expr* hold(int condition) const {
        switch (condition) {
        case Overflow:
            return is_set(overflow);
        case Below:
            return is_set(carry);
        case Equal:
            return is_set(zero);
        case BelowOrEqual:
            return is_set(carry | zero);
        case Sign:
            return is_set(sign);
        case Parity:
            return is_set(parity);
        case Less:
            return is_less();
        default:
            return arena_.make<Logical>(range_, false, is_set(zero), is_less());
        }
    }

  private:
    Expr* number(int64_t value) const { return arena_.make<ConstLong>(range_, value); }
    Expr* binary(BinaryOp op, Expr* left, Expr* right) const { return arena_.make<Binary>(range_, op, left, right); }
    Expr* is_set(int64_t any) const {
        auto* flags = arena_.make<Register>(range_, Register::flags);
        return binary(BinaryOp::Ne, binary(BinaryOp::And, flags, number(any)), number(0));
    }
    Expr* is_less() const { return binary(BinaryOp::Ne, is_set(sign), is_set(overflow)); }

    Arena& arena_;
    Range range_;
};

} // namespace

Expr* is_jump_taken(Arena& arena, Range range, uint8_t condition) {
    Expr* holds = Flags(arena, range).hold(condition >> 1);
    return condition % 2 == 0 ? holds : arena.make<Unary>(range, UnaryOp::Not, holds);
}

} // namespace sonde::hir
