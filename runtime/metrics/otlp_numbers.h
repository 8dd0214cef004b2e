// What became of a session's pushes (otlp_pusher.h).
#pragma once

#include <cstdint>

namespace sonde {

struct OtlpNumbers {
    uint64_t pushed_metrics = 0, pushed_logs = 0;   // requests that the collector has taken
    uint64_t dropped_metrics = 0, dropped_logs = 0; // pictures; lines
    uint64_t retries = 0;
};

} // namespace sonde
