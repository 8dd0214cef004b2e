#include "frontend/variables/summary.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/hir/walk.h"
#include "frontend/variables/components.h"
#include "frontend/variables/layout.h"
#include "frontend/variables/pretty.h"
#include "frontend/variables/reading.h"

namespace sonde {
namespace {

// Whether an address or a value is computed from memory, which may contain anything. Examples: an optional argument in
// Fortran is at address 0 if it is missing; LLVM 19 describes values in spilled registers with truncated addresses.
bool reads_memory(const hir::Expr& expr) {
    bool reads = false;
    for_each_expr(expr, [&](const hir::Expr& part) { reads = reads || part.kind == hir::ExprKind::Load; });
    return reads;
}

} // namespace

// A summary must not fail because of one variable: it is used with patterns over many functions. So each variable is
// bound without reports, and a value that may be unreadable at run time is guarded on its own.
void add_variable(Binding& b, Text& text, const std::string& name, const std::function<std::optional<Place>()>& find) {
    text.literal((text.is_empty() ? "" : " ") + name + "=");
    if (text.is_full())
        return text.literal("...");
    // A variable that cannot be read is printed as `?`.
    Diagnostics::Suppress quiet(b.binder.diags);
    std::optional<Place> place = find();
    if (!place)
        return text.literal("?");
    Text one;
    if (int depth = b.pretty_depth()) {
        add_value(b, one, *std::move(place), depth == 2);
        return text.add(std::move(one).finish_guarded(b));
    }
    std::optional<Place> target = without_references(b, *place, b.expr.range);
    if (target && is_record(target->type))
        return text.literal("{...}");
    hir::Expr* value = target ? to_long(b, *target, b.expr.range) : nullptr;
    if (!value)
        return text.literal("?");
    if (strip(place->type)->kind != Type::Reference && !reads_memory(target->address ? *target->address : *value))
        return text.add_integer(value, 'x', '#');
    one.add_integer(value, 'x', '#');
    text.add(std::move(one).finish_guarded(b));
}

bool ends_with_name(Binding& b) {
    for (const ast::Component& component : b.expr.components)
        if (component.kind == ast::Component::Member || component.kind == ast::Component::Index) {
            b.fail(DiagId::TypeMismatch, component.range,
                   fmt::format("`{}` is text, which has no members", b.expr.name));
            return false;
        }
    return true;
}

std::nullptr_t refuse_summary(Binding& b, const std::vector<std::string>& names) {
    const bool arguments = b.expr.name.starts_with("$$arg") || b.expr.name.starts_with("$$param");
    const bool has_parameters = std::ranges::find(names, "$$parms") != names.end();
    b.binder.diags.report(DiagId::UnknownVariable, b.base_range(), fmt::format("unknown variable `{}`", b.expr.name))
        .suggest(arguments && has_parameters ? "$$parms" : nearest_name(b.expr.name, names));
    return nullptr;
}

} // namespace sonde
