// Formats of snprintf() in the script's C.
#pragma once

#include "codegen/c/body.h"

namespace sonde {

// Rewrites all formats for bpf_snprintf(), and reports those that it cannot print. Call it before accesses are secured,
// because it adds accesses.
void rewrite_formats(CBody& body);

} // namespace sonde
