// Calls of the functions that the kernel has for BPF programs (kfuncs, Documentation/bpf/kfuncs.rst), by their numbers
// in the kernel's types. LLVM knows calls of helpers only, so that is what they are until there is an object.
#pragma once

#include <cstdint>
#include <vector>

namespace sonde {

// A call of the helper with this number and a function's is one of that function. Helpers' own numbers are below, what
// the loader puts another function in the place of is above (plan::call_session_is_return).
constexpr uint32_t kernel_call = 0x40000000, kernel_call_end = 0x7fff0000;
constexpr bool is_kernel_call(uint64_t helper) { return helper >= kernel_call && helper < kernel_call_end; }

// Makes them so in a relocatable object of LLVM's.
void aim_kernel_calls(std::vector<uint8_t>& object);

} // namespace sonde
