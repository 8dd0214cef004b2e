// Checks a plan's BPF object before libbpf and the kernel read it.
//
// A saved plan is a file, so it may be damaged or malicious. libbpf trusts some fields of an object without a check.
// The runtime maps the object's maps into memory with the sizes that the plan gives. Both would access memory out of
// bounds.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "runtime/plan/plan.h"

struct bpf_object;

namespace sonde {

// Checks the ELF file: every section lies inside of the file, and every index, name and offset is valid. The object
// need not be aligned. Returns an error for the first fault.
Result<void> check_object_file(std::span<const uint8_t> object);

// Checks an object that libbpf has opened but not yet loaded: it has a program for each probe, and its maps have the
// sizes that the plan expects.
Result<void> check_object(const plan::Plan& plan, const bpf_object* object);

// Runs both checks, without loading anything. For tests and fuzzers.
Result<void> try_kernel_object(const plan::Plan& plan);

} // namespace sonde
