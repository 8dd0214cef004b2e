// Families of metrics as text: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md) and Prometheus'
// own format 0.0.4, which differ in how a counter is named in the lines about it, in the last line, and in what there
// is no type for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/sinks/metrics/families.h"

namespace sonde {

enum class MetricsFormat { OpenMetrics, Prometheus };

std::string metrics_text(const std::vector<MetricFamily>& families, MetricsFormat format);

// What an `Accept` header asks for; Prometheus' format where it names neither, as curl's does.
MetricsFormat accepted_format(std::string_view accept);
const char* content_type(MetricsFormat format);

// UTF-8, with U+FFFD for each byte that belongs to none.
std::string valid_utf8(std::string_view text);

} // namespace sonde
