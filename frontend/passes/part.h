// The passes that see the whole script (passes.h), for a script that is a part of an interactive session: other parts
// use its globals, too.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

// Instead of bound_keys(): other parts store values that this part does not know, so nothing bounds the keys.
void bound_keys_of_part(hir::Program& program);
// Instead of plan_exclusion(): another part may contain a handler that must not see the work of others half done. So
// each handler that uses a shared global takes the session's only lock, also if it runs alone in this part.
void exclude_parts(hir::Program& program);

} // namespace sonde
