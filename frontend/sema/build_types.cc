// C types of script values: a long that was read from a typed place keeps what it points at through locals, globals,
// arguments and results, so that `p = $x->next; p->id` needs no @cast.
#include "frontend/hir/walk.h"
#include "frontend/sema/body_builder.h"

namespace sonde {

const Type* BodyBuilder::c_type_of(const hir::Expr& expr) const {
    if (auto noted = a_.c_types_.find(&expr); noted != a_.c_types_.end())
        return noted->second;
    const void* variable = variable_of(expr);
    switch (expr.kind) {
    case hir::ExprKind::Assign: {
        const auto& assign = hir::as<hir::Assign>(expr);
        return assign.op || assign.concat ? nullptr : c_type_of(*assign.value);
    }
    case hir::ExprKind::Ternary: {
        const Type* first = c_type_of(*hir::as<hir::Ternary>(expr).then_value);
        return first ? first : c_type_of(*hir::as<hir::Ternary>(expr).else_value);
    }
    case hir::ExprKind::Call:
        variable = hir::as<hir::Call>(expr).callee;
        break;
    default:
        break;
    }
    auto found = variable ? a_.c_types_of_variables_.find(variable) : a_.c_types_of_variables_.end();
    return found == a_.c_types_of_variables_.end() || found->second.other ? nullptr : found->second.type;
}

void BodyBuilder::note_c_type(const void* variable, const hir::Expr& value) {
    const Type* type = c_type_of(value);
    if (!variable || !type)
        return;
    Analyzer::CType& known = a_.c_types_of_variables_[variable];
    if (!known.type)
        known.type = type;
    else if (type_name(known.type) != type_name(type))
        known.other = type;
}

} // namespace sonde
