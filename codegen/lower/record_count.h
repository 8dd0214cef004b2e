// Whether one run of a handler can send more than one record.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

// True if some path through the handler, including called functions, can send two records of the events ring. Assumes
// that loops and recursive functions run more than once.
bool sends_several_records(const hir::Handler& handler);

} // namespace sonde
