// The routines of codegen/rtlib that handlers call, and programs of ours that run besides them: linked into the module.
#pragma once

#include "base/result.h"

namespace sonde {

class Emitter;

// After everything is lowered. Of routines only those stay that are called.
Result<void> link_routines(Emitter& e);
// Makes them fit this module, when its constants are defined.
void fit_routines(Emitter& e);

} // namespace sonde
