// The condition of .callee() points: the function will return to one of the places where the caller calls it.
#include "frontend/probes/probe.h"

namespace sonde {

hir::Expr* bind_callers(const ResolvedPoint& point, Range range, Binder& binder) {
    using hir::BinaryOp;
    constexpr int rbp = 6, rsp = 7, rip = 16;
    if (point.callers.empty())
        return nullptr;
    Arena& arena = binder.arena;
    // At a function's first instruction, or the push that it begins with, the return address is on top of the stack;
    // behind `push %rbp; mov %rsp,%rbp` it is above the frame pointer.
    Address here = point.is_return ? point.entry_address : point.address;
    bool behind = here == point.function.body && here != point.function.entry;
    hir::Expr* place = arena.make<hir::Register>(range, behind ? rbp : rsp);
    if (behind)
        place = arena.make<hir::Binary>(range, BinaryOp::Add, place, arena.make<hir::ConstLong>(range, 8));
    // Distances from the probed instruction are the same wherever the module is loaded.
    hir::Expr* distance = arena.make<hir::Binary>(range, BinaryOp::Sub, arena.make<hir::Load>(range, place, 8u, false),
                                                  arena.make<hir::Register>(range, rip));
    hir::Expr* any = nullptr;
    for (Address caller : point.callers) {
        hir::Expr* one = arena.make<hir::Binary>(
            range, BinaryOp::Eq, distance, arena.make<hir::ConstLong>(range, static_cast<int64_t>(caller - here)));
        any = any ? static_cast<hir::Expr*>(arena.make<hir::Binary>(range, BinaryOp::Or, any, one)) : one;
    }
    return point.is_return && binder.at_entry ? binder.at_entry(any) : any;
}

} // namespace sonde
