// LLVM's optimizer and back end, from a module to an object file, for BPF or for the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sonde {

class Architecture;

// One object for each module. Call begin() first, and emit_object() last.
class Backend {
  public:
    // `host`: compile for this processor; null: for BPF.
    explicit Backend(const Architecture* host);
    ~Backend();
    Backend(const Backend&) = delete;
    // Prepares the module for this machine. From then on, emit_object() reports LLVM's errors about the module. The
    // module's context must not outlive this object. Errors: LLVM lacks the back end.
    Result<void> begin(llvm::Module& module);
    // Runs passes as run_passes() does (codegen/backend/passes.h).
    void run(llvm::Module& module, const char* passes);
    // Runs the whole pipeline for this machine.
    void optimise(llvm::Module& module);
    // Keeps the order of instructions as in the script, for this module and all later ones. Otherwise, in a block with
    // many reads, LLVM puts all reads first, and their results need more stack than BPF has.
    void keep_order();
    // Call it after everything else: large modules get fewer optimizations (host) or longer jumps (BPF).
    void suit_size(llvm::Module& module, bool may_goto);
    // The object file. Errors: LLVM's message, with the place of the probe in the script.
    Result<std::vector<uint8_t>> emit_object(llvm::Module& module, const plan::Plan& plan);
    // The module as assembly, for --dump=bpf.
    std::string emit_assembly(llvm::Module& module);

  private:
    const Architecture* const host_;
    const bool bpf_;
    std::string failure_; // the first error that LLVM has reported
    std::unique_ptr<llvm::TargetMachine> machine_;
};

} // namespace sonde
