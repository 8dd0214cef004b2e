// Probes of places that a call passes more than once: the head of a loop that begins a function.
//
// Handlers at the jumps back note that the thread arrives from there, under its stack pointer: a signal's handler that
// runs in between has another one. The probe itself takes the note away and is not hit. Nothing else can stand between
// the two, so a note is never left over.
#pragma once

#include "frontend/hir/hir.h"
#include "frontend/points/resolved_point.h"
#include "frontend/sema/body.h"

namespace sonde {

// What is true at the point's own arrivals; null: all of them are. `which`: of several points at one place.
hir::Expr* build_first_arrival(Body& body, const ResolvedPoint& point, int64_t which, Range range);
// The handlers that note the others, at the point's jumps.
std::vector<hir::Handler*> build_arrival_notes(Body& body, const hir::Handler& like, const ResolvedPoint& point,
                                               int64_t which);

} // namespace sonde
