// Reports C that BPF cannot run, such as floating point, recursion, or assembly.
//
// Without these reports, LLVM's back end or the verifier would reject the program later. Their messages name an
// instruction or a register, and the user could not find the cause in the script.
//
// Some C looks impossible at first, and becomes possible by optimization. For example, a call through a pointer becomes
// a plain call when the function that passes the pointer is inlined. So there are several stages, in this order
// (secure_c_code() in memory.cc):
// - refuse_what_cannot_be() runs before inlining, because each line is still at its place then.
// - refuse_variables() runs after inlining, which finds out which variables are never written.
// - refuse_what_stays() reports calls and jumps that inlining has not removed.
// - refuse_addresses() runs last, after constants with addresses were replaced where possible.
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
