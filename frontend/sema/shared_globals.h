// The phases for globals that several parts of an interactive session share.
#pragma once

#include "frontend/hir/hir.h"
#include "frontend/sema/context.h"
#include "frontend/sema/names.h"
#include "frontend/sema/side_tables.h"
#include "runtime/plan/shared_globals.h"

namespace sonde {

// Gives the declared globals the types that earlier parts have decided.
void adopt_shared_globals(Names& names, const plan::SharedGlobals& shared, SideTables& tables);
// Gives each shared global a form that suits all parts, including later ones. Reports statistics that lack data.
// Requires analyze_usage().
void settle_shared_globals(hir::Program& program, const plan::SharedGlobals& shared, SemaContext& context);
// Reports shared arrays with stacks as keys. A stack in a key refers to memory of one plan. Requires find_key_roles().
void refuse_shared_stacks(const hir::Program& program, SemaContext& context);

} // namespace sonde
