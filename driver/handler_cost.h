// The usual time of a handler, from its operations.
#pragma once

#include "frontend/hir/hir.h"

namespace sonde {

struct HandlerCost {
    double ns = 0;          // of one run
    bool has_loops = false; // a loop counts as `usual_rounds` rounds
};
constexpr int usual_rounds = 10;

// Branches count as half, because only one of two runs. The time of an empty handler is not part of it.
HandlerCost cost_of(const hir::Handler& handler);

} // namespace sonde
