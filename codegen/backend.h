// LLVM from a module to an object: its optimiser and its back end for one of the two places.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sonde {

class Backend {
  public:
    explicit Backend(bool bpf);
    ~Backend();
    Backend(const Backend&) = delete;
    // Makes the module one for this machine; what LLVM says of it then becomes an error of emit_object(). The module's
    // context must not outlive this. Errors: LLVM has no such back end.
    Result<void> begin(llvm::Module& module);
    // As run_passes() of codegen/passes.h.
    void run(llvm::Module& module, const char* passes);
    // The pipeline of this place.
    void optimise(llvm::Module& module);
    // Code then comes in the order of the script, in this and in later modules. Else a block with many reads has all
    // that it read on the stack before anything is computed of it.
    void keep_order();
    // After everything else: large modules want less work, or longer jumps.
    void suit_size(llvm::Module& module, bool may_goto);
    // Errors: what LLVM refused, told for the plan's probes.
    Result<std::vector<uint8_t>> emit_object(llvm::Module& module, const plan::Plan& plan);
    std::string emit_assembly(llvm::Module& module);

  private:
    const bool bpf_;
    std::string failure_; // the first error that LLVM has reported
    std::unique_ptr<llvm::TargetMachine> machine_;
};

} // namespace sonde
