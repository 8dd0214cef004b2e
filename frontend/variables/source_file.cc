// `$value`: the text for a reader of a control file, or from its writer.
#include <fmt/format.h>

#include "base/suggest.h"
#include "frontend/variables/sources.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

bool is_written(const ResolvedPoint& point) { return plan::traits(point.kind).cause == plan::Cause::Write; }

hir::Expr* file_value(Binding& b) {
    if (b.expr.name != "$value") {
        DiagBuilder report =
            b.binder.diags.report(DiagId::UnknownVariable, b.base_range(),
                                  fmt::format("a control file has no `{}`, only `$value`", b.expr.name));
        if (std::string near = nearest_name(b.expr.name, {"$value"}); !near.empty())
            report.suggest(near);
        return nullptr;
    }
    if (!b.expr.components.empty())
        return b.fail(DiagId::TypeMismatch, b.expr.range, "`$value` is text, which has no members");
    if (!is_written(b.point))
        return b.fail(DiagId::WrongContext, b.expr.range,
                      "`$value` is the text for the reader, which this handler can set but not read",
                      "build the text in a variable, and assign the variable; `$value .= TEXT` appends");
    return b.binder.call ? b.binder.call("__value", {}) : nullptr;
}

std::string list_file_value(const ResolvedPoint&) { return " $value:string"; }

std::optional<hir::Expr*> assign_file_value(Binding& b, bool append, hir::Expr* value) {
    if (b.expr.name != "$value" || !b.expr.components.empty())
        return file_value(b); // reports an error
    if (is_written(b.point))
        return b.fail(DiagId::NotAssignable, b.expr.range,
                      "`$value` is the text that was written to the file, and cannot be changed",
                      "a handler of `.read` sets it");
    return b.binder.call(append ? "__append_value" : "__set_value", {value});
}

} // namespace

const VariableSource file_source = {.list = list_file_value, .text = file_value, .assign = assign_file_value};

} // namespace sonde
