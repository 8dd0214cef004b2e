// The sinks for --metrics and --otlp.
#pragma once

#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/request.h"
#include "runtime/sinks/sink.h"

namespace sonde {

struct MetricSettings {
    MetricsRequest metrics; // --metrics
    OtlpRequest otlp;       // --otlp
    bool tells_url = false; // print the URL of the metrics, even if the user has chosen the port
};

// Returns zero, one or two sinks. They must come before the sinks that print, because printed text is pushed together
// with the call that it belongs to. Fails if the address cannot be used, if memory runs out, or if --otlp-only=traces
// is given and the plan has no calls.
Result<Sinks> make_metric_sinks(SessionData& data, Output& output, const MetricSettings& settings);

} // namespace sonde
