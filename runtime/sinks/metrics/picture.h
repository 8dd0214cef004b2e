// A session's numbers at one moment, as bytes: what a scrape is made of.
//
// The session's own thread takes them between two turns of its loop, which costs a copy and no more. What is made of
// them, names, labels and texts, another thread makes (families.h), so that a scrape of thousands of series keeps no
// event waiting. Handlers run on meanwhile: each value is one that it had, and an array's are read one after the other.
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

// What became of the hits of one of the plan's probes.
struct ProbeNumbers {
    uint64_t hits = 0, skipped = 0, lost = 0, missed = 0, failed = 0, spent_ns = 0;
    bool measured = false; // hits and spent_ns are known
};

struct MetricsPicture {
    int64_t began_ns = 0, time_ns = 0; // since 1970
    int64_t took_ns = 0;               // to take it
    // By global; a scalar is one element without a key. None: it is the library's.
    std::vector<std::vector<ArrayElement>> globals;
    std::vector<ProbeNumbers> probes; // by probe
    uint64_t errors = 0, skipped = 0;
    std::optional<OtlpNumbers> pushes; // --otlp
};

// In the session's thread. `pusher`: whose numbers are in the picture, too; null: --otlp is not given.
MetricsPicture take_metrics_picture(const SessionData& data, const OtlpPusher* pusher, int64_t began_ns);

} // namespace sonde
