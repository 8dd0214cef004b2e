// The routines of codegen/rtlib that handlers call, and programs of ours that run besides them: linked into the module.
#pragma once

#include "base/result.h"

namespace llvm {
class Module;
}

namespace sonde {

class Emitter;

// After everything is lowered. Of routines only those stay that are called.
Result<void> link_routines(Emitter& e);
// After functions have become part of what calls them: where memory is not waited for, routines get copies that cannot
// wait. The verifier refuses such a global function to programs that may not, whatever the function is called with.
void separate_waits(llvm::Module& module);
// Makes them fit this module, when its constants are defined.
void fit_routines(Emitter& e);

} // namespace sonde
