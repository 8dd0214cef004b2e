#include "runtime/sinks/metrics/otlp.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "base/protobuf.h"
#include "runtime/sinks/metrics/open_metrics.h"

// Field numbers: opentelemetry/proto/{common,resource,metrics,logs,trace}/v1/*.proto. All three requests have the same
// form:
//
//     1: resource_metrics, resource_logs or resource_spans
//         1: resource: attributes of the sender
//         2: scope_metrics, scope_logs or scope_spans
//             1: scope: the name "sonde"
//             2: a metric, a log record or a span; repeated
namespace sonde {
namespace {

constexpr uint64_t delta = 1, cumulative = 2; // AggregationTemporality
constexpr uint64_t severity_info = 9;
constexpr uint64_t kind_internal = 1; // SpanKind

ProtobufMessage attribute(std::string_view name, std::string_view value) {
    return ProtobufMessage().text(1, name).message(2, ProtobufMessage().text(1, valid_utf8(value)));
}
ProtobufMessage attribute(std::string_view name, int64_t value) {
    return ProtobufMessage().text(1, name).message(2, ProtobufMessage().number(3, static_cast<uint64_t>(value)));
}

// The sender, with the attribute names of OpenTelemetry's semantic conventions.
ProtobufMessage resource_message(const OtlpResource& resource) {
    ProtobufMessage out;
    return out.message(1, attribute("host.name", resource.host))
        .message(1, attribute("service.name", resource.service))
        .message(1, attribute("process.pid", resource.process));
}

ProtobufMessage scope_message() { return ProtobufMessage().text(1, "sonde"); }

void add_labels(ProtobufMessage& point, uint32_t field, const MetricFamily& family, const MetricPoint& values) {
    for (size_t i = 0; i < family.labels.size(); i++)
        point.message(field, attribute(family.labels[i], values.labels[i]));
}

// A data point of a Sum or a Gauge. Only a Sum has a start time.
ProtobufMessage number_point(const MetricFamily& family, const MetricPoint& values, const OtlpTimes& times) {
    ProtobufMessage out;
    if (family.kind == MetricKind::Counter)
        out.fixed(2, static_cast<uint64_t>(times.began_ns));
    out.fixed(3, static_cast<uint64_t>(times.time_ns));
    if (family.is_real)
        out.real(4, values.real);
    else
        out.fixed(6, static_cast<uint64_t>(values.number));
    add_labels(out, 7, family, values);
    return out;
}

// Adds the fields that both types of histograms share, except the labels.
ProtobufMessage begin_histogram_point(const MetricPoint& values, const OtlpTimes& times) {
    ProtobufMessage out;
    out.fixed(2, static_cast<uint64_t>(times.began_ns))
        .fixed(3, static_cast<uint64_t>(times.time_ns))
        .fixed(4, values.count);
    // OTLP requires a sum that never decreases. A missing sum tells readers that values may be negative.
    if (values.sum >= 0 && (values.buckets.empty() || values.buckets[0].first >= 0))
        out.real(5, static_cast<double>(values.sum));
    return out;
}

// A data point of a Histogram. OTLP wants the count of each bucket, and our counts are cumulative.
ProtobufMessage histogram_point(const MetricFamily& family, const MetricPoint& values, const OtlpTimes& times) {
    ProtobufMessage out = begin_histogram_point(values, times);
    if (!values.buckets.empty()) {
        std::string counts, bounds; // of each bucket alone; the last one has no bound
        uint64_t before = 0;
        for (const auto& [bound, up_to_here] : values.buckets) {
            ProtobufMessage::append_fixed(counts, up_to_here - before);
            ProtobufMessage::append_fixed(bounds, std::bit_cast<uint64_t>(static_cast<double>(bound)));
            before = up_to_here;
        }
        ProtobufMessage::append_fixed(counts, values.count - before);
        out.text(6, counts).text(7, bounds);
    }
    add_labels(out, 9, family, values);
    return out;
}

// Encodes the buckets from the first to the last non-empty one, with indexes of scale 0.
ProtobufMessage exponential_buckets(const std::map<int32_t, uint64_t>& counts) {
    std::string packed;
    for (int32_t index = counts.begin()->first; index <= counts.rbegin()->first; index++)
        ProtobufMessage::append_varint(packed, counts.contains(index) ? counts.at(index) : 0);
    return ProtobufMessage().zigzag(1, counts.begin()->first).text(2, packed);
}

ProtobufMessage exponential_point(const MetricFamily& family, const MetricPoint& values, const OtlpTimes& times) {
    ProtobufMessage out;
    add_labels(out, 1, family, values);
    const ProtobufMessage beginning = begin_histogram_point(values, times);
    out.append(beginning);
    // otlp.h explains the indexes. The bounds are 0, 1, 3, 7, ... and -1, -2, -4, ...
    std::map<int32_t, uint64_t> positive, negative;
    uint64_t zeros = 0, before = 0;
    const auto index_of = [](uint64_t size) { return size == 1 ? -1 : static_cast<int32_t>(std::bit_width(size)) - 1; };
    for (const auto& [bound, up_to_here] : values.buckets) {
        const uint64_t count = up_to_here - std::exchange(before, up_to_here);
        if (count == 0)
            continue;
        if (bound == 0)
            zeros += count;
        else if (bound > 0)
            positive[index_of(static_cast<uint64_t>(bound))] += count;
        else
            negative[index_of(-static_cast<uint64_t>(bound))] += count;
    }
    // The unbounded bucket has the values from 2^62 on.
    if (values.count > before)
        positive[62] += values.count - before;
    out.fixed(7, zeros); // field 6, the scale, is 0 by default
    if (!positive.empty())
        out.message(8, exponential_buckets(positive));
    if (!negative.empty())
        out.message(9, exponential_buckets(negative));
    return out;
}

// Text from a collector is printed to a terminal: make it one line without control characters.
bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }
std::string shown(std::string text) {
    constexpr size_t longest = 300;
    text = valid_utf8(text.substr(0, longest));
    std::ranges::replace_if(text, is_control, '?');
    return text;
}

// Encode the ids of traces and spans, for spans and log records.
std::string trace_bytes(const std::array<uint64_t, 2>& trace) {
    std::string out;
    for (const uint64_t half : trace)
        ProtobufMessage::append_fixed(out, half);
    return out;
}
std::string span_bytes(uint64_t id) {
    std::string out;
    ProtobufMessage::append_fixed(out, id);
    return out;
}

// A metric with all its points.
ProtobufMessage metric_message(const MetricFamily& family, const OtlpTimes& times) {
    const bool is_exponential = family.is_by_twos && times.has_exponential;
    ProtobufMessage data;
    for (const MetricPoint& point : family.points)
        data.message(1, is_exponential                         ? exponential_point(family, point, times)
                        : family.kind == MetricKind::Histogram ? histogram_point(family, point, times)
                                                               : number_point(family, point, times));
    const uint64_t temporality = times.is_delta ? delta : cumulative;
    if (family.kind == MetricKind::Counter)
        data.number(2, temporality).number(3, 1);
    if (family.kind == MetricKind::Histogram)
        data.number(2, temporality);
    ProtobufMessage out;
    out.text(1, family.kind == MetricKind::Info ? family.name + "_info" : family.name).text(2, valid_utf8(family.help));
    if (!family.unit.empty())
        out.text(3, family.unit == "seconds" ? "s" : family.unit); // the UCUM code
    const uint32_t field = family.kind == MetricKind::Counter     ? 7
                           : is_exponential                       ? 10
                           : family.kind == MetricKind::Histogram ? 9
                                                                  : 5;
    out.message(field, data);
    return out;
}

} // namespace

std::string otlp_metrics(const OtlpResource& resource, const std::vector<MetricFamily>& families,
                         const OtlpTimes& times) {
    ProtobufMessage scope;
    scope.message(1, scope_message());
    for (const MetricFamily& family : families)
        if (!family.points.empty())
            scope.message(2, metric_message(family, times));
    const ProtobufMessage all = ProtobufMessage().message(1, resource_message(resource)).message(2, scope);
    return ProtobufMessage().message(1, all).bytes();
}

std::string otlp_logs(const OtlpResource& resource, const std::vector<OtlpLine>& lines) {
    ProtobufMessage scope;
    scope.message(1, scope_message());
    for (const OtlpLine& line : lines) {
        ProtobufMessage record;
        record.fixed(1, static_cast<uint64_t>(line.time_ns)).number(2, severity_info).text(3, "INFO");
        record.message(5, ProtobufMessage().text(1, valid_utf8(line.text)));
        if (line.within.id)
            record.text(9, trace_bytes(line.within.trace)).text(10, span_bytes(line.within.id));
        record.fixed(11, static_cast<uint64_t>(line.time_ns));
        scope.message(2, record);
    }
    const ProtobufMessage all = ProtobufMessage().message(1, resource_message(resource)).message(2, scope);
    return ProtobufMessage().message(1, all).bytes();
}

size_t cost_of(const OtlpSpan& span) {
    size_t out = 200 + span.name.size() + span.process.size() + span.thread.size();
    for (const OtlpValue& value : span.values)
        out += 64 + value.name.size() + value.text.size();
    return out;
}

// The kind of all spans is INTERNAL: sonde does not know if a call serves a request from outside.
std::string otlp_traces(const OtlpResource& resource, const std::vector<OtlpSpan>& spans) {
    ProtobufMessage scope;
    scope.message(1, scope_message());
    for (const OtlpSpan& span : spans) {
        ProtobufMessage out;
        out.text(1, trace_bytes(span.trace)).text(2, span_bytes(span.id));
        if (span.parent)
            out.text(4, span_bytes(span.parent));
        out.text(5, valid_utf8(span.name)).number(6, kind_internal);
        out.fixed(7, static_cast<uint64_t>(span.begin_ns)).fixed(8, static_cast<uint64_t>(span.end_ns));
        out.message(9, attribute("process.pid", span.pid))
            .message(9, attribute("process.executable.name", span.process))
            .message(9, attribute("thread.id", span.tid))
            .message(9, attribute("thread.name", span.thread));
        if (span.is_return_unseen)
            out.message(9, attribute("sonde.return", "not seen"));
        for (const OtlpValue& value : span.values) {
            const std::string name = valid_utf8(value.name);
            out.message(9, value.is_text ? attribute(name, value.text) : attribute(name, value.number));
        }
        if (span.values_left_out)
            out.number(10, span.values_left_out);
        scope.message(2, out);
    }
    const ProtobufMessage all = ProtobufMessage().message(1, resource_message(resource)).message(2, scope);
    return ProtobufMessage().message(1, all).bytes();
}

OtlpRejection otlp_rejection(const std::string& answer) {
    OtlpRejection out;
    ProtobufReader fields(answer);
    while (fields.next()) {
        if (fields.field() != 1) // partial_success
            continue;
        ProtobufReader inner(fields.bytes());
        while (inner.next()) {
            if (inner.field() == 1)
                out.count = inner.number();
            else if (inner.field() == 2)
                out.why = inner.bytes();
        }
    }
    out.why = shown(out.why);
    return out;
}

std::string otlp_refusal(const std::string& answer) {
    const std::string line = answer.substr(0, answer.find_first_of("\r\n"));
    if (std::ranges::none_of(line, is_control))
        return line.starts_with('<') ? "" : shown(line); // an HTML page
    ProtobufReader fields(answer);
    while (fields.next())
        if (fields.field() == 2) // message
            return shown(std::string(fields.bytes()));
    return "";
}

} // namespace sonde
