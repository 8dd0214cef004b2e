// --pprof: an array whose key has a stack as a profile of pprof's (google/pprof, proto/profile.proto), compressed: what
// `go tool pprof`, Pyroscope, Grafana and others read.
//
// A sample is an element: its stack, the innermost first, its number (of a statistic how many values there are, and
// their sum), and what else the key has as labels. An address is a location with all functions that are inlined there.
// Addresses are those of the process, and mappings tell whose they are by the file and its build-id, not where it lay:
// names are in the profile, so no reader has to find them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbols;

// The file's bytes. `time_ns`: when it is made, or when its time began, since 1970; how long that was, 0: it does not
// say. Errors: it cannot be compressed.
Result<std::string> pprof_profile(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers,
                                  const plan::Global& global, const std::vector<ArrayElement>& elements,
                                  int64_t time_ns, int64_t duration_ns = 0);

} // namespace sonde
