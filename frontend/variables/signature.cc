#include "frontend/variables/signature.h"

#include "frontend/variables/location.h"
#include "frontend/variables/reading.h"

namespace sonde {
namespace {

constexpr uint64_t word = 8;

} // namespace

std::vector<hir::Expr*> bind_arguments(const ResolvedPoint& point, Range range, Binder& binder) {
    std::vector<hir::Expr*> out;
    if (!point.module || !point.function.has_debug_info)
        return out;
    ast::TargetExpr none(range);
    Binding b(none, point, binder);
    for (const Variable& one : point.module->parameters(point.function)) {
        const Type* type = strip(one.type);
        std::string why;
        std::optional<Place> place;
        if (type && is_scalar(type) && type->size <= word)
            place = place_at(b, point.module->calling_convention().argument_location(point.function, one), type, why);
        out.push_back(place ? load(b, *place, range) : nullptr);
    }
    return out;
}

const Type* narrow_result(const ResolvedPoint& point) {
    const Type* result = nullptr;
    if (!point.is_return)
        return nullptr;
    if (point.module && point.function.has_debug_info)
        result = strip(point.module->result_type(point.function));
    else if (point.prototype)
        result = strip(point.prototype->target);
    return result && is_scalar(result) && result->size > 0 && result->size < word ? result : nullptr;
}

} // namespace sonde
