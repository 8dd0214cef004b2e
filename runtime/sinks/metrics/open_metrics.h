// Metrics as text, in two formats: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md), and version
// 0.0.4 of Prometheus' own format. The differences:
// * the name of a counter in its HELP and TYPE lines
// * the last line of the text
// * the types that exist
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/sinks/metrics/families.h"

namespace sonde {

enum class MetricsFormat { OpenMetrics, Prometheus };

// Returns the text of an answer to a scrape.
std::string metrics_text(const std::vector<MetricFamily>& families, MetricsFormat format);

// Returns the format that an `Accept` header prefers. Returns Prometheus if the header names neither format, as that of
// curl.
MetricsFormat accepted_format(std::string_view accept);
const char* content_type(MetricsFormat format);

// Replaces each byte that is not part of valid UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);

} // namespace sonde
