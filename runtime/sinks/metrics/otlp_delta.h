// --otlp-temporality=delta: what came between two pictures of a session.
//
// The base is the last picture that the collector has taken. So what a push that was refused had, the next one has too,
// and nothing is counted twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/sinks/metrics/families.h"

namespace sonde {

class OtlpBase {
  public:
    // Counters and histograms without what the base has of them, those with nothing new left out; the others as they
    // are. What became less began anew, and is all new.
    std::vector<MetricFamily> since(const std::vector<MetricFamily>& now) const;
    // The collector has taken this picture.
    void take(std::vector<MetricFamily> taken, int64_t time_ns);
    int64_t time_ns() const { return time_ns_; } // of it; 0: there is none

  private:
    using Points = std::map<std::vector<std::string>, MetricPoint>; // by labels
    std::map<std::string, Points> families_;                        // by name
    int64_t time_ns_ = 0;
};

} // namespace sonde
