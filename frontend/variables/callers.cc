// The condition of .callee() points: the callee was called by the function through which the script found it.
// For `process("p").function("f").callee("g")`, the probe is at g, and other functions call g, too. The handler reads
// the return address from g's frame. It runs only if this is one of the addresses after the calls in f. With
// `.callees(2)`, the frame rule of the calling function leads to the next frame, and so on.
#include "arch/architecture.h"
#include "frontend/variables/variables.h"

namespace sonde {
namespace {

using hir::BinaryOp;

// Goes from frame to frame like an unwinder, but with rules that are known at compile time: those of the callers in
// question.
class FrameWalk {
  public:
    FrameWalk(Arena& arena, Range range, const RegisterFile& registers, Address here)
        : arena_(arena), range_(range), here_(here), registers_(registers) {}

    // Whether a function whose frame is found by `rule` was called by one of `callers`.
    hir::Expr* called_by(const std::vector<Caller>& callers, const FrameRule& rule, hir::Expr* stack,
                         hir::Expr* frame) {
        hir::Expr* cfa = plus(rule.cfa_register == registers_.stack_pointer ? stack : frame, rule.cfa_offset);
        hir::Expr* callers_frame = rule.saved_frame_pointer ? load(plus(cfa, *rule.saved_frame_pointer)) : frame;
        // The distance from the probed instruction does not depend on where the module is loaded.
        hir::Expr* returns = rule.saved_return_address
                                 ? load(plus(cfa, *rule.saved_return_address))
                                 : arena_.make<hir::Register>(range_, registers_.call.return_register);
        hir::Expr* distance = without_signature(
            binary(BinaryOp::Sub, returns, arena_.make<hir::Register>(range_, registers_.instruction_pointer)));
        hir::Expr* any = nullptr;
        for (const Caller& caller : callers) {
            hir::Expr* here = nullptr;
            for (Address address : caller.return_addresses)
                here = either(here, binary(BinaryOp::Eq, distance,
                                           without_signature(number(static_cast<int64_t>(address - here_)))));
            if (!caller.callers.empty())
                here = arena_.make<hir::Logical>(range_, true, here,
                                                 called_by(caller.callers, caller.frame, cfa, callers_frame));
            any = either(any, here);
        }
        return any;
    }

  private:
    hir::Expr* number(int64_t value) { return arena_.make<hir::ConstLong>(range_, value); }
    hir::Expr* binary(BinaryOp op, hir::Expr* left, hir::Expr* right) {
        return arena_.make<hir::Binary>(range_, op, left, right);
    }
    // Moves the bits above a return address out of the number.
    hir::Expr* without_signature(hir::Expr* value) {
        const int64_t above = 64 - static_cast<int64_t>(registers_.call.return_address_bits);
        return above == 0 ? value : binary(BinaryOp::Shl, value, number(above));
    }
    hir::Expr* plus(hir::Expr* value, int64_t offset) { return binary(BinaryOp::Add, value, number(offset)); }
    hir::Expr* load(hir::Expr* address) { return arena_.make<hir::Load>(range_, address, 8u, false); }
    hir::Expr* either(hir::Expr* left, hir::Expr* right) {
        return left ? arena_.make<hir::Logical>(range_, false, left, right) : right;
    }

    Arena& arena_;
    Range range_;
    Address here_;
    const RegisterFile& registers_;
};

} // namespace

hir::Expr* bind_callers(const ResolvedPoint& point, Range range, Binder& binder) {
    const RegisterFile& registers = point.architecture().registers();
    Address here = point.is_return ? point.entry_address : point.address;
    std::optional<FrameRule> rule = point.callers.empty() ? std::nullopt : point.module->frame_rule(here);
    if (!rule)
        return nullptr;
    FrameWalk walk(binder.arena, range, registers, point.jump.value_or(here));
    hir::Expr* called =
        walk.called_by(point.callers, *rule, binder.arena.make<hir::Register>(range, registers.stack_pointer),
                       binder.arena.make<hir::Register>(range, registers.frame_pointer));
    return point.is_return && binder.at_entry ? binder.at_entry(called) : called;
}

} // namespace sonde
