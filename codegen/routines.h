// Links the routines of codegen/rtlib that handlers call, and our own BPF programs, into the module.
#pragma once

#include "base/result.h"

namespace llvm {
class Module;
}

namespace sonde {

class Emitter;

// Links the routines; call it when everything is lowered. Routines that are not called are left out.
Result<void> link_routines(Emitter& e);
// Makes copies of routines that cannot wait for memory, for programs that must not sleep. Call it after inlining. The
// verifier rejects a global function that may sleep in such programs, whatever its arguments are.
void separate_waits(llvm::Module& module);
// Adapts the routines to this module; call it when its constants are defined.
void fit_routines(Emitter& e);

} // namespace sonde
