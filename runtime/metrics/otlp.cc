#include "runtime/metrics/otlp.h"

#include <bit>
#include <string_view>

#include "runtime/metrics/open_metrics.h"
#include "runtime/pictures/protobuf.h"

// The numbers of fields are those of opentelemetry/proto/{common,resource,metrics,logs}/v1/*.proto.
namespace sonde {
namespace {

constexpr uint64_t cumulative = 2;
constexpr uint64_t severity_info = 9;

ProtobufMessage attribute(std::string_view name, std::string_view value) {
    return ProtobufMessage().text(1, name).message(2, ProtobufMessage().text(1, valid_utf8(value)));
}
ProtobufMessage attribute(std::string_view name, int64_t value) {
    return ProtobufMessage().text(1, name).message(2, ProtobufMessage().number(3, static_cast<uint64_t>(value)));
}

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

struct Times {
    uint64_t began_ns, time_ns;
};

ProtobufMessage number_point(const MetricFamily& family, const MetricPoint& values, const Times& times) {
    ProtobufMessage out;
    if (family.kind == MetricKind::Counter)
        out.fixed(2, times.began_ns);
    out.fixed(3, times.time_ns);
    if (family.is_real)
        out.real(4, values.real);
    else
        out.fixed(6, static_cast<uint64_t>(values.number));
    add_labels(out, 7, family, values);
    return out;
}

ProtobufMessage histogram_point(const MetricFamily& family, const MetricPoint& values, const Times& times) {
    ProtobufMessage out;
    out.fixed(2, times.began_ns).fixed(3, times.time_ns).fixed(4, values.count);
    // A sum is one that only grows; without it, readers know that there are negative values.
    if (values.sum >= 0 && (values.buckets.empty() || values.buckets[0].first >= 0))
        out.real(5, static_cast<double>(values.sum));
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

ProtobufMessage metric_message(const MetricFamily& family, const Times& times) {
    ProtobufMessage data;
    for (const MetricPoint& point : family.points)
        data.message(1, family.kind == MetricKind::Histogram ? histogram_point(family, point, times)
                                                             : number_point(family, point, times));
    if (family.kind == MetricKind::Counter)
        data.number(2, cumulative).number(3, 1);
    if (family.kind == MetricKind::Histogram)
        data.number(2, cumulative);
    ProtobufMessage out;
    out.text(1, family.kind == MetricKind::Info ? family.name + "_info" : family.name).text(2, valid_utf8(family.help));
    if (!family.unit.empty())
        out.text(3, family.unit == "seconds" ? "s" : family.unit); // UCUM's name
    const uint32_t field = family.kind == MetricKind::Counter ? 7 : family.kind == MetricKind::Histogram ? 9 : 5;
    out.message(field, data);
    return out;
}

} // namespace

std::string otlp_metrics(const OtlpResource& resource, const std::vector<MetricFamily>& families, int64_t began_ns,
                         int64_t time_ns) {
    const Times times{static_cast<uint64_t>(began_ns), static_cast<uint64_t>(time_ns)};
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
        record.fixed(11, static_cast<uint64_t>(line.time_ns));
        scope.message(2, record);
    }
    const ProtobufMessage all = ProtobufMessage().message(1, resource_message(resource)).message(2, scope);
    return ProtobufMessage().message(1, all).bytes();
}

} // namespace sonde
