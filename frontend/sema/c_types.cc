// C types of script values. A number that was read from typed memory keeps its pointer type through locals, globals,
// arguments and results. So `p = $x->next; p->id` needs no @cast.
#include "frontend/hir/walk.h"
#include "frontend/sema/notes.h"

namespace sonde {

const Type* c_type_of(const Notes& notes, const hir::Expr& expr) {
    if (auto noted = notes.c_types.find(&expr); noted != notes.c_types.end())
        return noted->second;
    const void* variable = variable_of(expr);
    switch (expr.kind) {
    case hir::ExprKind::Assign: {
        const auto& assign = hir::as<hir::Assign>(expr);
        return assign.op || assign.concat ? nullptr : c_type_of(notes, *assign.value);
    }
    case hir::ExprKind::Ternary: {
        const Type* first = c_type_of(notes, *hir::as<hir::Ternary>(expr).then_value);
        return first ? first : c_type_of(notes, *hir::as<hir::Ternary>(expr).else_value);
    }
    case hir::ExprKind::Call:
        variable = hir::as<hir::Call>(expr).callee;
        break;
    default:
        break;
    }
    auto found = variable ? notes.c_types_of_variables.find(variable) : notes.c_types_of_variables.end();
    return found == notes.c_types_of_variables.end() || found->second.other ? nullptr : found->second.type;
}

void note_c_type(Notes& notes, const void* variable, const hir::Expr& value) {
    const Type* type = c_type_of(notes, value);
    if (!variable || !type)
        return;
    Notes::CType& known = notes.c_types_of_variables[variable];
    if (!known.type)
        known.type = type;
    else if (type_name(known.type) != type_name(type))
        known.other = type;
}

} // namespace sonde
