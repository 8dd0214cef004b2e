// C types of script values. A number that was read from typed memory keeps its pointer type through locals, globals,
// arguments and results. So `p = $x->next; p->id` needs no @cast.
#include "frontend/hir/walk.h"
#include "frontend/sema/side_tables.h"

namespace sonde {

const Type* c_type_of(const SideTables& tables, const hir::Expr& expr) {
    if (auto noted = tables.c_types.find(&expr); noted != tables.c_types.end())
        return noted->second;
    const void* variable = variable_of(expr);
    switch (expr.kind) {
    case hir::ExprKind::Assign: {
        const auto& assign = hir::as<hir::Assign>(expr);
        return assign.op || assign.concat ? nullptr : c_type_of(tables, *assign.value);
    }
    case hir::ExprKind::Ternary: {
        const Type* first = c_type_of(tables, *hir::as<hir::Ternary>(expr).then_value);
        return first ? first : c_type_of(tables, *hir::as<hir::Ternary>(expr).else_value);
    }
    case hir::ExprKind::Call:
        variable = hir::as<hir::Call>(expr).callee;
        break;
    default:
        break;
    }
    auto found = variable ? tables.c_types_of_variables.find(variable) : tables.c_types_of_variables.end();
    return found == tables.c_types_of_variables.end() || found->second.other ? nullptr : found->second.type;
}

void record_c_type(SideTables& tables, const void* variable, const hir::Expr& value) {
    const Type* type = c_type_of(tables, value);
    if (!variable || !type)
        return;
    SideTables::CType& known = tables.c_types_of_variables[variable];
    if (!known.type)
        known.type = type;
    else if (type_name(known.type) != type_name(type))
        known.other = type;
}

} // namespace sonde
