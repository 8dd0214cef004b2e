// The two formats differ in names and types, not in samples:
//
//     OpenMetrics                   Prometheus
//     # TYPE opens counter          # TYPE opens_total counter
//     opens_total 42                opens_total 42
//     # TYPE last info              # TYPE last_info gauge
//     last_info{value="x"} 1        last_info{value="x"} 1
//     # EOF
#include "runtime/sinks/metrics/open_metrics.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

namespace sonde {
namespace {

// Returns the length in bytes of the character at `at`; 0 if the bytes are not valid UTF-8.
size_t utf8_length(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at);
    if (first < 0x80)
        return 1;
    const size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                          : first >= 0xe0 && first <= 0xef ? 3
                          : first >= 0xf0 && first <= 0xf4 ? 4
                                                           : 0;
    if (length == 0 || at + length > text.size())
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte(at + i) & 0xc0) != 0x80)
            return 0;
    // Reject overlong forms, surrogates, and numbers above U+10FFFF (RFC 3629).
    const unsigned char second = byte(at + 1);
    const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : length;
}

// Appends the value of a label, without its quotes.
void append_escaped(std::string& out, std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text, i);
        if (length == 0)
            out += "\xef\xbf\xbd";
        else if (text[i] == '\\')
            out += "\\\\";
        else if (text[i] == '"')
            out += "\\\"";
        else if (text[i] == '\n')
            out += "\\n";
        else
            out += text.substr(i, length);
        i += length ? length : 1;
    }
}

// Appends a help text. OpenMetrics escapes quotes, Prometheus' format does not.
void append_help(std::string& out, std::string_view text, MetricsFormat format) {
    std::string escaped;
    append_escaped(escaped, text);
    for (size_t i = 0; i < escaped.size(); i++) {
        if (format == MetricsFormat::Prometheus && escaped.compare(i, 2, "\\\"") == 0)
            i++;
        out += escaped[i];
    }
}

// Appends {a="1",b="2"}. `more` is an additional last label, or empty.
void append_labels(std::string& out, const MetricFamily& family, const MetricPoint& point, std::string_view more = "") {
    if (family.labels.empty() && more.empty())
        return;
    char before = '{';
    for (size_t i = 0; i < family.labels.size(); i++) {
        out += before;
        out += family.labels[i];
        out += "=\"";
        append_escaped(out, point.labels[i]);
        out += '"';
        before = ',';
    }
    if (!more.empty()) {
        out += before;
        out += more;
    }
    out += '}';
}

// Formats a bound, which must be a floating point number in `le`: 1.0, 1e+18.
std::string bound_text(int64_t bound) {
    std::string out = fmt::format("{}", static_cast<double>(bound));
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

// Appends the samples of a histogram: one for each bound, one without bound, the sum and the count.
void append_histogram(std::string& out, const MetricFamily& family, const MetricPoint& point, MetricsFormat format) {
    const auto sample = [&](const char* ending, std::string_view label, auto value) {
        out += family.name;
        out += ending;
        append_labels(out, family, point, label);
        fmt::format_to(std::back_inserter(out), " {}\n", value);
    };
    for (const auto& [bound, count] : point.buckets)
        sample("_bucket", "le=\"" + bound_text(bound) + "\"", count);
    sample("_bucket", "le=\"+Inf\"", point.count);
    // OpenMetrics requires a sum that never decreases. With negative values, both the sum and the count must be
    // omitted.
    if (format == MetricsFormat::OpenMetrics &&
        (point.sum < 0 || (!point.buckets.empty() && point.buckets[0].first < 0)))
        return;
    sample("_sum", "", point.sum);
    sample("_count", "", point.count);
}

const char* ending_of(MetricKind kind) {
    return kind == MetricKind::Counter ? "_total" : kind == MetricKind::Info ? "_info" : "";
}

// Prometheus' format has no type `info`, so such a family is a gauge with the value 1.
const char* type_of(MetricKind kind, MetricsFormat format) {
    switch (kind) {
    case MetricKind::Gauge:
        return "gauge";
    case MetricKind::Counter:
        return "counter";
    case MetricKind::Histogram:
        return "histogram";
    case MetricKind::Info:
        return format == MetricsFormat::OpenMetrics ? "info" : "gauge";
    }
    return "unknown";
}

} // namespace

std::string valid_utf8(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const size_t length = utf8_length(text, i);
        out += length ? text.substr(i, length) : "\xef\xbf\xbd";
        i += length ? length : 1;
    }
    return out;
}

// In OpenMetrics, HELP and TYPE name a counter without `_total`. In Prometheus' format, they have the sample's full
// name.
std::string metrics_text(const std::vector<MetricFamily>& families, MetricsFormat format) {
    std::string out;
    for (const MetricFamily& family : families) {
        const char* ending = ending_of(family.kind);
        const std::string name = format == MetricsFormat::OpenMetrics ? family.name : family.name + ending;
        out += fmt::format("# HELP {} ", name);
        append_help(out, family.help, format);
        out += fmt::format("\n# TYPE {} {}\n", name, type_of(family.kind, format));
        if (!family.unit.empty() && format == MetricsFormat::OpenMetrics)
            out += fmt::format("# UNIT {} {}\n", name, family.unit);
        for (const MetricPoint& point : family.points) {
            if (family.kind == MetricKind::Histogram) {
                append_histogram(out, family, point, format);
                continue;
            }
            out += family.name;
            out += ending;
            append_labels(out, family, point);
            if (family.is_real)
                fmt::format_to(std::back_inserter(out), " {:.9f}\n", point.real);
            else
                fmt::format_to(std::back_inserter(out), " {}\n", point.number);
        }
    }
    if (format == MetricsFormat::OpenMetrics)
        out += "# EOF\n";
    return out;
}

MetricsFormat accepted_format(std::string_view accept) {
    constexpr std::string_view open = "application/openmetrics-text";
    // Choose the format with the greater q, or the first one if both are equal.
    double best = 0;
    MetricsFormat out = MetricsFormat::Prometheus;
    while (!accept.empty()) {
        const size_t comma = std::min(accept.find(','), accept.size());
        const std::string_view one = accept.substr(0, comma);
        accept.remove_prefix(std::min(comma + 1, accept.size()));
        const size_t q = one.find("q=");
        const double weight = q == std::string_view::npos ? 1 : std::atof(std::string(one.substr(q + 2)).c_str());
        const bool is_open = one.find(open) != std::string_view::npos;
        if ((is_open || one.find("text/") != std::string_view::npos) && weight > best) {
            best = weight;
            out = is_open ? MetricsFormat::OpenMetrics : MetricsFormat::Prometheus;
        }
    }
    return out;
}

const char* content_type(MetricsFormat format) {
    return format == MetricsFormat::OpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                                : "text/plain; version=0.0.4; charset=utf-8";
}

} // namespace sonde
