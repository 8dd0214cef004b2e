#include "runtime/sinks/metrics/otlp_delta.h"

#include <algorithm>
#include <utility>

namespace sonde {
namespace {

bool accumulates(const MetricFamily& family) {
    return family.kind == MetricKind::Counter || family.kind == MetricKind::Histogram;
}

// Subtracts the buckets of `before` from those of `point`. Buckets are cumulative, so compute the count of each one,
// subtract, and add up again. Both lists may have different bounds. Returns false if a count has decreased. Example:
//
//     bound                        1    3    7    +Inf
//     before, up to the bound      2         5    6
//     now, up to the bound         2    4    9    10
//     difference in each bucket    0    2    2    0
bool subtract_buckets(const MetricPoint& before, MetricPoint& point) {
    size_t next = 0;
    uint64_t up_to_here = 0, now_before = 0, base_before = 0, base = 0;
    for (auto& [bound, count] : point.buckets) {
        for (; next < before.buckets.size() && before.buckets[next].first <= bound; next++)
            base = before.buckets[next].second;
        const uint64_t in_now = count - std::exchange(now_before, count);
        const uint64_t in_base = base - std::exchange(base_before, base);
        if (in_now < in_base)
            return false;
        count = up_to_here += in_now - in_base;
    }
    // The unbounded bucket.
    if (point.count - now_before < before.count - base_before)
        return false;
    point.count -= before.count;
    point.sum -= before.sum;
    return true;
}

// Returns false, and leaves `point` unchanged, if the series was reset.
bool subtract(const MetricFamily& family, const MetricPoint& before, MetricPoint& point) {
    if (family.kind == MetricKind::Histogram) {
        MetricPoint out = point;
        if (!subtract_buckets(before, out))
            return false;
        point = std::move(out);
        return true;
    }
    if (family.is_real ? point.real < before.real : point.number < before.number)
        return false;
    point.real -= before.real;
    point.number -= before.number;
    return true;
}

bool has_news(const MetricFamily& family, const MetricPoint& point) {
    return family.kind == MetricKind::Histogram ? point.count != 0
           : family.is_real                     ? point.real != 0
                                                : point.number != 0;
}

} // namespace

std::vector<MetricFamily> OtlpBase::since(const std::vector<MetricFamily>& now) const {
    std::vector<MetricFamily> out = now;
    for (MetricFamily& family : out) {
        if (!accumulates(family))
            continue;
        const auto base = families_.find(family.name);
        for (MetricPoint& point : family.points)
            if (base != families_.end())
                if (const auto before = base->second.find(point.labels); before != base->second.end())
                    subtract(family, before->second, point);
        std::erase_if(family.points, [&](const MetricPoint& point) { return !has_news(family, point); });
    }
    return out;
}

void OtlpBase::take(std::vector<MetricFamily> taken, int64_t time_ns) {
    time_ns_ = time_ns;
    for (MetricFamily& family : taken) {
        if (!accumulates(family))
            continue;
        Points& points = families_[family.name];
        // A series that is missing was deleted, so it starts at 0 when it returns. But if the limit omitted series, a
        // missing one may still exist with its old value.
        if (!family.is_cut)
            points.clear();
        for (MetricPoint& point : family.points) {
            std::vector<std::string> labels = point.labels;
            points.insert_or_assign(std::move(labels), std::move(point));
        }
    }
}

} // namespace sonde
