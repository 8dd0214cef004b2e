// Checks of a plan's BPF object before libbpf and the kernel get it: libbpf takes an object from the compiler at its
// word in places, and the runtime reads maps into memory of the size that the plan says.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "runtime/plan/plan.h"

struct bpf_object;

namespace sonde {

// The ELF file: every section lies inside of it, and every index and name refers to something.
Result<void> check_object_file(std::span<const uint8_t> object);

// Opened by libbpf, and not yet loaded: the programs that probes name are there, and the maps have the plan's sizes.
Result<void> check_object(const plan::Plan& plan, const bpf_object* object);

// Both, and libbpf in between; nothing is loaded. For tests and fuzzers.
Result<void> try_kernel_object(const plan::Plan& plan);

} // namespace sonde
