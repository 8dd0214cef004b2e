// Calls of kernel functions that are open to BPF programs (kfuncs, Documentation/bpf/kfuncs.rst), by their ids in the
// kernel's BTF. LLVM can only call helpers, so the IR calls a helper with a special number, and aim_kernel_calls()
// patches the object file.
#pragma once

#include <cstdint>
#include <vector>

namespace sonde {

// A call of the helper `kernel_call + N` stands for the function with BTF id N. Numbers of real helpers are smaller.
// Numbers that the loader replaces (plan::call_session_is_return) are larger.
constexpr uint32_t kernel_call = 0x40000000, kernel_call_end = 0x7fff0000;
constexpr bool is_kernel_call(uint64_t helper) { return helper >= kernel_call && helper < kernel_call_end; }

// Patches these calls in a relocatable object that LLVM has written.
void aim_kernel_calls(std::vector<uint8_t>& object);

} // namespace sonde
