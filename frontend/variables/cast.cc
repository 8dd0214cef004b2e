// `@cast(expr, "type")`, and typed pointers of the script: finds the place at an address.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/bases.h"
#include "frontend/variables/scope.h"
#include "frontend/variables/source_program.h"

namespace sonde {
namespace {

// The place of this type at `address`. If the type is a pointer, the value `address` itself.
std::optional<Place> place_of_value(Binding& b, hir::Expr* address, const Type* type, bool kernel) {
    // A value that is printed with all members is read many times, but must be evaluated once.
    if (b.pretty_depth() > 0 && b.binder.hold)
        if (hir::Local* local = b.binder.hold(address)) {
            b.held = b.make<hir::Assign>(b.expr.range, b.get(local), address);
            address = b.get(local);
        }
    const Type* plain = strip(type);
    Place place = plain && plain->kind == Type::Pointer ? value_place(type, address) : object_at(address, type);
    place.kernel = kernel;
    return place;
}

} // namespace

std::optional<Place> cast_place(Binding& b) {
    std::optional<TypeScope> scope = type_scope(b);
    if (!scope)
        return std::nullopt;
    std::string name = b.expr.name;
    const Type* type = scope->find(name);
    if (!type) {
        std::vector<std::string> names = scope->names();
        // The most likely error is `struct` before the name of a typedef.
        size_t space = name.find(' ');
        std::string bare = name.substr(space == std::string::npos ? 0 : space + 1);
        std::string near = space != std::string::npos && scope->find(bare) ? bare : nearest_name(name, names);
        b.binder.diags
            .report(DiagId::UnknownType, b.base_range(), fmt::format("no type `{}` in {}", name, scope->where))
            .suggest(near);
        return std::nullopt;
    }
    hir::Expr* at = b.binder.lower(*b.expr.operand);
    if (!at)
        return std::nullopt;
    if (at->type == hir::ValueType::String) {
        b.fail(DiagId::TypeMismatch, b.expr.operand->range,
               "`@cast` takes an address, which is a number, not a string");
        return std::nullopt;
    }
    if (at->type != hir::ValueType::Long) // the type is unknown so far; it must become a number
        at = b.make<hir::Retype>(b.expr.operand->range, at, 8u, false);
    // `@cast(p, "struct s")[2]` is the third object of an array at p, as if the type were a pointer.
    bool indexed = !b.expr.components.empty() && b.expr.components[0].kind == ast::Component::Index;
    const Type* plain = strip(type);
    if (indexed && plain && plain->kind != Type::Array && plain->kind != Type::Pointer)
        type = scope->find(name + "*");
    // "T" is the object at the address; "T*" is the type of the address itself.
    return place_of_value(b, at, type, is_kernels(b));
}

std::optional<Place> pointer_place(Binding& b) {
    hir::Expr* value = b.binder.lower(*b.expr.operand);
    if (!value)
        return std::nullopt;
    if (const Type* type = b.binder.c_type_of ? b.binder.c_type_of(*value) : nullptr)
        // Types from the kernel's debug information are not marked as the kernel's, but the point is in the kernel.
        return place_of_value(b, value, type,
                              (type->of_kernel && !b.point.syscall) || (b.point.kernel && b.point.module));
    std::string source = ast::to_source(*b.expr.operand);
    // Other languages write `order->quantity` and `args->order` for `$order`.
    const bool is_list = source == "args" && !b.expr.components.empty();
    const std::string named = is_list ? b.expr.components[0].name : source;
    const bool is_there = b.expr.operand->kind == ast::ExprKind::Name && has_variable(b.point, named);
    b.fail(DiagId::UnknownType, b.base_range(), fmt::format("the type of `{}` is not known", source),
           is_there
               ? fmt::format("the traced program's or kernel's variable is `${}`", named)
               : fmt::format("assign a `$variable` or @cast to it in this body, or write `@cast({}, \"struct name\")`",
                             source));
    return std::nullopt;
}

} // namespace sonde
