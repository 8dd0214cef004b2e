// Formats of snprintf() in the script's C, in the few conversions that the kernel's bpf_snprintf() has.
#pragma once

#include "codegen/c/body.h"

namespace sonde {

// Before accesses are secured: what is added here is secured as all C is. What cannot be is refused at its line.
void rewrite_formats(CBody& body);

} // namespace sonde
