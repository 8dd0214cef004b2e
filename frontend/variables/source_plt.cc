// `$$name` of an entry in the procedure linkage table, of which only the name is known.
#include <fmt/format.h>

#include "frontend/variables/sources.h"

namespace sonde {
namespace {

std::optional<Place> refuse_variable(Binding& b) {
    b.fail(DiagId::WrongContext, b.expr.range,
           fmt::format("`{}`: a linkage table's entry has no variables", b.as_written(0)),
           "it has `$$name`; probe the library's own function for its parameters");
    return std::nullopt;
}

hir::Expr* plt_summary(Binding& b) {
    if (b.expr.name == "$$name")
        // Not a literal: handlers of many entries that differ only in this text are compiled once.
        return b.binder.call("ppfunc", {});
    refuse_variable(b);
    return nullptr;
}

} // namespace

const VariableSource plt_source = {.find = refuse_variable, .summary = plt_summary};

} // namespace sonde
