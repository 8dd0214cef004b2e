// `$$name` of an entry of a linkage table: nothing but the name is known.
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

hir::Expr* plt_summary(Binding& b) { return b.string(b.expr.name == "$$name" ? b.point.plt->name : ""); }

} // namespace

const VariableSource plt_source = {.find = refuse_variable, .summary = plt_summary};

} // namespace sonde
