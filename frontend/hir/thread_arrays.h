// Arrays whose elements each belong to one thread.
#pragma once

#include <map>

#include "frontend/hir/hir.h"

namespace sonde {

// What a handler that uses such an array can be.
struct ThreadUse {
    // It can also run in the idle threads of the processors, which all have the number 0, and in interrupts.
    bool anywhere = false;
};

// Finds the arrays whose elements are used by their own thread only: no other thread, and not the session, ever uses
// one.
std::map<const hir::Global*, ThreadUse> find_thread_arrays(const hir::Program& program);

} // namespace sonde
