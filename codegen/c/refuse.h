// Reports C that BPF cannot run. This happens before inlining, so that each report is at the right line.
#pragma once

#include <set>
#include <string>

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Module.h>

#include "base/diag.h"

namespace sonde {

// The place in the script. For code inlined from the prelude: the place of the call. `otherwise`: for code without a
// place in the script.
Range place_of(const llvm::DebugLoc& at, const Sources& sources, Range otherwise);

// Reports everything that is known to be impossible. `variables`: kernel variables whose addresses are known.
// `largest`: the maximum bytes of a function's variable. `whole`: the place for errors without one.
void refuse_what_cannot_be(llvm::Module& module, const std::set<std::string>& variables, uint64_t largest, Range whole,
                           Diagnostics& diags);

// Reports calls and instructions that remain after inlining and that BPF cannot run.
void refuse_what_stays(llvm::Function& function, Range whole, Diagnostics& diags);

// Reports variables that are written, because they would keep their values between calls.
void refuse_variables(llvm::Module& module, Range whole, Diagnostics& diags);

// Reports constants that contain addresses, which nothing would fill in. Call it after optimization, which removes most
// of them.
void refuse_addresses(llvm::Module& module, Range whole, Diagnostics& diags);

} // namespace sonde
