// `@errno`, which is `@var("errno")`: the errno of the traced thread. Works without debug information.
// The address is a sum of words that the handler reads (machine/errno_place.h):
//
//     thread pointer + offset of `errno` in the library's block + *(library + distance_slot)
//     library = *(module + import->slot) - import->address     unless the probed module is the library
#include <fmt/format.h>

#include "arch/architecture.h"
#include "frontend/machine/errno_place.h"
#include "frontend/variables/bases.h"
#include "frontend/variables/location.h"
#include "frontend/variables/reading.h"

namespace sonde {
namespace {

// The difference between the module's addresses in memory and as linked.
hir::Expr* load_base(Binding& b) {
    const int counter = b.point.architecture().registers().instruction_pointer;
    if (!b.point.module->file().position_independent())
        return b.number(0);
    // After a return the program counter is in the caller, so use its value at the entry.
    return b.saved(b.plus(b.make<hir::Register>(b.expr.range, counter), -static_cast<int64_t>(b.counter_address())),
                   b.point.is_return && !b.binder.inside_entry);
}

} // namespace

bool is_errno(const Binding& b) {
    return b.expr.name == "errno" && b.expr.module.empty() && !(b.point.kernel && b.point.module) &&
           (!b.point.module || !b.point.module->has_debug_info() || b.point.module->globals("errno").empty());
}

std::optional<Place> errno_place(Binding& b) {
    static const Type type = integer_type("int", 4, true);
    if (!b.point.module || b.point.kernel) {
        b.fail(DiagId::WrongContext, b.base_range(), "`errno` needs a probe point in a program",
               "read `errno` at a function, statement or mark of a program: process(\"...\").function(\"...\").return");
        return std::nullopt;
    }
    Result<ErrnoPlace> found = find_errno(b.point.module->path(), b.point.architecture());
    if (!found) {
        b.fail(DiagId::VariableUnavailable, b.base_range(),
               fmt::format("the address of `errno` is not known: {}", found.error().message));
        return std::nullopt;
    }
    Place place;
    place.type = &type;
    place.address = b.plus(evaluate(b, {{LocationOp::ThreadBase}}), found->offset);
    if (!found->distance_slot)
        return place;
    auto pointer_at = [&](hir::Expr* base, uint64_t slot) {
        return read(b, place, b.expr.range, b.plus(base, static_cast<int64_t>(slot)), 8, false);
    };
    hir::Expr* library = load_base(b);
    if (found->import)
        library = b.plus(pointer_at(library, found->import->slot), -static_cast<int64_t>(found->import->address));
    place.address = b.binary(hir::BinaryOp::Add, place.address, pointer_at(library, *found->distance_slot));
    return place;
}

} // namespace sonde
