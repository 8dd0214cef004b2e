// A copy of a session's numbers at one moment, for a scrape or a push.
//
// The session's thread only copies bytes, between two iterations of its loop. Another thread makes names, labels and
// text from the copy (families.h). So even a scrape of thousands of series does not delay the processing of records.
// Handlers continue meanwhile: each value existed at some moment, but the elements of an array may be of different
// moments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/sinks/metrics/otlp_numbers.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class OtlpPusher;
struct SessionData;

// The accounting of one probe.
struct ProbeNumbers {
    uint64_t hits = 0, skipped = 0, lost = 0, missed = 0, failed = 0, spent_ns = 0;
    bool measured = false; // hits and spent_ns are valid
};

struct MetricsPicture {
    int64_t began_ns = 0, time_ns = 0; // since 1970
    int64_t took_ns = 0;               // how long the copy took
    // Elements by global. A scalar is a single element without a key. Globals of the library, and arrays with stacks in
    // their keys, are empty.
    std::vector<std::vector<ArrayElement>> globals;
    std::vector<ProbeNumbers> probes; // by index in Plan::probes
    uint64_t errors = 0, skipped = 0;
    std::optional<OtlpNumbers> pushes; // only with --otlp
};

// Call it in the session's thread. `pusher`: its counts become part of the picture; null: --otlp is not given.
// `began_ns`: the session's start, since 1970.
MetricsPicture take_metrics_picture(const SessionData& data, const OtlpPusher* pusher, int64_t began_ns);

} // namespace sonde
