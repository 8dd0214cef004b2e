// --pprof: an array with a stack in its key as a compressed pprof profile (google/pprof, proto/profile.proto), for `go
// tool pprof`, Pyroscope, Grafana and others.
//
// Each element becomes a sample: the stack (innermost first), the value, and the other components of the key as labels.
// The values of a statistic are its count and its sum. A location is an address with all functions that are inlined
// there.
//
// Addresses are those of the process. A mapping identifies its file by name and build-id, but does not contain its
// address range. Readers do not need it, because the profile contains the names of all functions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbolizer;

// Returns the contents of the file. `time_ns`: when the profile was made, or when its interval began, in nanoseconds
// since 1970. `duration_ns`: length of the interval; 0: not included. Fails if compression fails.
Result<std::string> pprof_profile(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers,
                                  const plan::Global& global, const std::vector<ArrayElement>& elements,
                                  int64_t time_ns, int64_t duration_ns = 0);

} // namespace sonde
