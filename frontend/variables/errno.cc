// `@errno`, which is `@var("errno")`: the traced thread's own, also where there is no debug information.
#include <fmt/format.h>

#include "frontend/types/errno_place.h"
#include "frontend/variables/binding.h"

namespace sonde {

bool TargetBinder::is_errno() {
    return expr_.name == "errno" && expr_.module.empty() && !(point_.kernel && point_.module) &&
           (!point_.module || !point_.module->has_debug_info() || point_.module->globals("errno").empty());
}

hir::Expr* TargetBinder::load_base() {
    constexpr int rip = 16;
    if (!point_.module->position_independent())
        return number(0);
    // Behind a return the program counter is the caller's, so it is taken at the entry.
    return saved(plus(make<hir::Register>(expr_.range, rip), -static_cast<int64_t>(counter_address())),
                 point_.is_return && !binder_.inside_entry);
}

std::optional<Place> TargetBinder::errno_place() {
    static const Type type = integer_type("int", 4, true);
    if (!point_.module || point_.kernel) {
        fail(DiagId::WrongContext, base_range(), "`errno` is a program's, and this probe point is not in one",
             "read it at a function, statement or mark of a program: process(\"...\").function(\"...\").return");
        return std::nullopt;
    }
    Result<ErrnoPlace> found = find_errno(point_.module->path());
    if (!found) {
        fail(DiagId::VariableUnavailable, base_range(),
             fmt::format("where `errno` is cannot be known: {}", found.error().message));
        return std::nullopt;
    }
    Place place;
    place.type = &type;
    place.address = plus(evaluate({{LocationOp::ThreadBase}}), found->offset);
    if (!found->distance_slot)
        return place;
    auto pointer_at = [&](hir::Expr* base, uint64_t slot) {
        return read(place, expr_.range, plus(base, static_cast<int64_t>(slot)), 8, false);
    };
    hir::Expr* library = load_base();
    if (found->import)
        library = plus(pointer_at(library, found->import->slot), -static_cast<int64_t>(found->import->address));
    place.address = binary(hir::BinaryOp::Add, place.address, pointer_at(library, *found->distance_slot));
    return place;
}

} // namespace sonde
