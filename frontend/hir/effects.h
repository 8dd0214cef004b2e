// The primitives that act on something outside of the session: the machine, the traced programs, or files. A session
// that only watches (driver/confine.h) refuses them.
#pragma once

#include "frontend/hir/primitives.h"

namespace sonde::hir {

bool acts_outside(const Primitive& primitive);

} // namespace sonde::hir
