// Whether one run of a handler may send more than one record.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

// True if some way through the handler sends two records for the runtime to show (RecordHeader's, of the events ring),
// itself or in what it calls. Loops and functions that call themselves are taken to run more than once.
bool sends_several_records(const hir::Handler& handler);

} // namespace sonde
