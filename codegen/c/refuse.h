// What C for BPF cannot have, found before anything is inlined, so that each stands at its line.
#pragma once

#include <set>
#include <string>

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Module.h>

#include "base/diag.h"

namespace sonde {

// Where that is in the script; in what is inlined there, where it was called. `otherwise`: it comes from no script.
Range place_of(const llvm::DebugLoc& at, const Sources& sources, Range otherwise);

// `variables`: of the kernel, those whose addresses are known. `largest`: how many bytes a variable of a function can
// have.
void refuse_what_cannot_be(llvm::Module& module, const std::set<std::string>& variables, uint64_t largest, Range whole,
                           Diagnostics& diags);

// The same for what inlining has left.
void refuse_what_stays(llvm::Function& function, Range whole, Diagnostics& diags);

// The same for variables that are written, which the kernel would keep between calls.
void refuse_variables(llvm::Module& module, Range whole, Diagnostics& diags);

// The same for constants that hold addresses: nobody would fill those in. Once it is optimised, so that most are gone.
void refuse_addresses(llvm::Module& module, Range whole, Diagnostics& diags);

} // namespace sonde
