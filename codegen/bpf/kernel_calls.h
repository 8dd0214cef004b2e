// Calls of the functions that the kernel has for BPF programs (kfuncs, Documentation/bpf/kfuncs.rst), by their numbers
// in the kernel's types. LLVM knows calls of helpers only, so that is what they are until there is an object.
#pragma once

#include <cstdint>
#include <vector>

namespace sonde {

// A call of the helper `kernel_call + N` means the function that has the number N in the kernel's types. The numbers of
// real helpers are smaller. Those that the loader replaces (plan::call_session_is_return) are larger.
constexpr uint32_t kernel_call = 0x40000000, kernel_call_end = 0x7fff0000;
constexpr bool is_kernel_call(uint64_t helper) { return helper >= kernel_call && helper < kernel_call_end; }

// Replaces such calls in a relocatable object that LLVM has made by calls of these functions.
void aim_kernel_calls(std::vector<uint8_t>& object);

} // namespace sonde
