// A step of code generation for kernels without may_goto, after lowering and before the optimiser.
#pragma once

namespace llvm {
class Module;
}

namespace sonde {

// What marks the head of a loop: a declared function without arguments that gives an i1. `true` leaves the loop for the
// block that the branch on it names, as do loops that go on for too long.
constexpr const char* loop_mark = "sonde_loop_is_over";

// Each marked loop becomes a callback of bpf_loop() (5.17, bpf: Add bpf_loop helper). Changes the module.
void make_loop_callbacks(llvm::Module& module);

} // namespace sonde
