// --metrics and --otlp as sinks.
#pragma once

#include "runtime/sinks/metrics/otlp_request.h"
#include "runtime/sinks/metrics/request.h"
#include "runtime/sinks/sink.h"

namespace sonde {

struct MetricSettings {
    MetricsRequest metrics; // --metrics
    OtlpRequest otlp;       // --otlp
    bool tells_url = false; // says where the metrics are served, whatever the port is
};

// No, one or two sinks. They come before the sinks that print: what these print is pushed, too, with the call that it
// belongs to. Errors: an address that cannot be served at, no memory, a plan without calls for --otlp-only=traces.
Result<Sinks> make_metric_sinks(SessionData& data, Output& output, const MetricSettings& settings);

} // namespace sonde
