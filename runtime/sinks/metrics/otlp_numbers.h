// Counts of a session's pushes (otlp_pusher.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace sonde {

// The signals of OTLP. Each has its own path.
enum OtlpSignal : uint8_t { OtlpMetrics, OtlpLogs, OtlpTraces };
struct OtlpSignalFacts {
    const char* name; // for --otlp-only and the label `signal`
    const char* path;
    const char *one, *several; // names for messages about dropped items
};
constexpr OtlpSignalFacts otlp_signals[] = {{"metrics", "/v1/metrics", "push of metrics", "pushes of metrics"},
                                            {"logs", "/v1/logs", "line", "lines"},
                                            {"traces", "/v1/traces", "span", "spans"}};
constexpr size_t otlp_signal_count = std::size(otlp_signals);

struct OtlpNumbers {
    uint64_t pushed[otlp_signal_count] = {};  // requests that the collector has accepted
    uint64_t dropped[otlp_signal_count] = {}; // pictures, lines, spans
    uint64_t retries = 0;
    uint64_t unseen_returns = 0; // spans of calls whose return was not seen
};

} // namespace sonde
