// Turns loops into callbacks of bpf_loop(), for kernels without may_goto. Runs after lowering and before the optimizer.
#pragma once

namespace llvm {
class Module;
}

namespace sonde {

// Marks the head of a loop: a declared function without arguments that returns i1. The branch on its result names the
// block to which the loop goes after too many iterations.
constexpr const char* loop_mark = "sonde_loop_is_over";

// Replaces every marked loop by a call of bpf_loop() (Linux 5.17, "bpf: Add bpf_loop helper"). Changes the module.
void make_loop_callbacks(llvm::Module& module);

} // namespace sonde
