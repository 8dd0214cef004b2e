// --otlp-temporality=delta: computes the difference between two pictures of a session.
//
// The base is the last picture that the collector has accepted. If the collector refuses a push, the base stays the
// same, and the next push includes those values. So no value is lost or counted twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/sinks/metrics/families.h"

namespace sonde {

class OtlpBase {
  public:
    // Returns `now` minus the base, for counters and histograms. Omits series that have not changed. Other families are
    // returned unchanged. If a series has decreased, the script has reset it, and its full value is returned.
    std::vector<MetricFamily> since(const std::vector<MetricFamily>& now) const;
    // Makes `taken` the new base, because the collector has accepted it. `time_ns`: the picture's time.
    void take(std::vector<MetricFamily> taken, int64_t time_ns);
    int64_t time_ns() const { return time_ns_; } // time of the base; 0: no base

  private:
    using Points = std::map<std::vector<std::string>, MetricPoint>; // by labels
    std::map<std::string, Points> families_;                        // by name
    int64_t time_ns_ = 0;
};

} // namespace sonde
