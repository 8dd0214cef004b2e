// The condition of a return that is a conditional jump to another function: the jump is taken.
#include "frontend/variables/variables.h"

namespace sonde {
namespace {

// The conditions of `jcc`, in pairs: the odd one is the opposite (Intel's manual, volume 1, appendix B).
enum { overflow = 0, below = 1, equal = 2, below_or_equal = 3, sign = 4, parity = 5, less = 6, less_or_equal = 7 };

class Flags {
  public:
    Flags(Arena& arena, Range range) : arena_(arena), range_(range) {}

    hir::Expr* holds(int condition) {
        constexpr int carry_bit = 0, parity_bit = 2, zero_bit = 6, sign_bit = 7, overflow_bit = 11;
        switch (condition) {
        case overflow:
            return bit(overflow_bit);
        case below:
            return bit(carry_bit);
        case equal:
            return bit(zero_bit);
        case below_or_equal:
            return binary(hir::BinaryOp::Or, bit(carry_bit), bit(zero_bit));
        case sign:
            return bit(sign_bit);
        case parity:
            return bit(parity_bit);
        default: {
            hir::Expr* is_less = binary(hir::BinaryOp::Xor, bit(sign_bit), bit(overflow_bit));
            return condition == less ? is_less : binary(hir::BinaryOp::Or, is_less, bit(zero_bit));
        }
        }
    }
    hir::Expr* number(int64_t value) { return arena_.make<hir::ConstLong>(range_, value); }
    hir::Expr* binary(hir::BinaryOp op, hir::Expr* left, hir::Expr* right) {
        return arena_.make<hir::Binary>(range_, op, left, right);
    }

  private:
    hir::Expr* bit(int which) {
        auto* flags = arena_.make<hir::Register>(range_, hir::Register::flags);
        return binary(hir::BinaryOp::And, binary(hir::BinaryOp::ShrLogical, flags, number(which)), number(1));
    }

    Arena& arena_;
    Range range_;
};

} // namespace

hir::Expr* bind_jump_taken(const ResolvedPoint& point, Range range, Arena& arena) {
    if (!point.jump_condition)
        return nullptr;
    Flags flags(arena, range);
    const int code = *point.jump_condition;
    return flags.binary(hir::BinaryOp::Eq, flags.holds(code >> 1), flags.number(code % 2 == 0));
}

} // namespace sonde
