// From globals to metrics:
//
//     global                                   family                  sample
//     global opens (only grows: opens++)       counter opens           opens_total 42
//     global depth (grows and shrinks)         gauge depth             depth 3
//     global t (statistic: t[execname()])      histogram t             t_bucket{execname="cat",le="1023.0"} 7
//     global last (string)                     info last               last_info{value="x"} 1
//
// Names must be unique in all forms that samples take. For example, a counter `a` has the sample `a_total`, so a gauge
// must not be named `a_total`. Such names get a number (`a_total_2`) once for a plan, so that they never change during
// a session.
//
// The number of series is limited, because keys may be user data and monitoring systems store each series separately.
#include "runtime/sinks/metrics/families.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/values/array_values.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

// Replaces each run of invalid characters by one `_`. Removes those at both ends.
std::string mangle(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
        if (good || c == '_')
            out += c;
        else if (!out.empty() && out.back() != '_')
            out += '_';
    }
    // `execname()` becomes `execname`. A `_` at the end of the script's own name is kept.
    if (!text.empty() && text.back() != '_')
        while (!out.empty() && out.back() == '_')
            out.pop_back();
    return !out.empty() && std::isdigit(static_cast<unsigned char>(out[0])) != 0 ? "_" + out : out;
}

// Returns the first of NAME, NAME_2, NAME_3, ... that `is_free` accepts.
template <typename IsFree> std::string first_free(const std::string& name, IsFree is_free) {
    if (is_free(name))
        return name;
    for (int number = 2;; number++)
        if (std::string next = fmt::format("{}_{}", name, number); is_free(next))
            return next;
}

// Returns all names that a family occupies: its own, and those of its samples.
std::vector<std::string> sample_names(const std::string& name, MetricKind kind) {
    switch (kind) {
    case MetricKind::Gauge:
        return {name};
    case MetricKind::Counter:
        return {name, name + "_total", name + "_created"};
    case MetricKind::Histogram:
        return {name, name + "_bucket", name + "_sum", name + "_count", name + "_created"};
    case MetricKind::Info:
        return {name, name + "_info"};
    }
    return {};
}

// Returns the names of a global's labels. `taken`: names that the family itself uses.
std::vector<std::string> label_names(const plan::Global& global, std::set<std::string> taken) {
    std::vector<std::string> out;
    for (size_t i = 0; i < global.keys.size(); i++) {
        const std::string wanted = i < global.labels.size() ? global.labels[i] : name_of_key(global, i);
        out.push_back(first_free(label_name(wanted, fmt::format("key{}", i + 1)),
                                 [&](const std::string& name) { return taken.insert(name).second; }));
    }
    return out;
}

// Returns the counts of values by power of two. Each bucket for percentiles lies within one power of two, so the result
// is exact.
std::map<int64_t, uint64_t> powers_of_two(const uint64_t* buckets) {
    std::map<int64_t, uint64_t> out;
    for (uint64_t i = 0; i < SONDE_QUANTILE_BUCKETS; i++) {
        if (buckets[i] == 0)
            continue;
        const uint64_t step = i < SONDE_QUANTILE_HALF ? SONDE_QUANTILE_HALF - i : i - SONDE_QUANTILE_HALF;
        const auto bits = static_cast<unsigned>(std::bit_width(sonde_quantile_low(step)));
        const bool negative = i < SONDE_QUANTILE_HALF;
        // -7 to -4 have the upper bound -4; 4 to 7 have 7.
        const int64_t bound = negative ? -static_cast<int64_t>(1ull << (bits - 1))
                                       : static_cast<int64_t>(bits >= 63 ? INT64_MAX : (1ull << bits) - 1);
        out[bound] += buckets[i];
    }
    return out;
}

// Returns the count of each bucket, by its upper bound. Omits empty buckets and the last one, which has no bound.
std::map<int64_t, uint64_t> bucket_counts(const plan::StatsNeeds& needs, const Statistic& statistic) {
    if (needs.buckets() == 0)
        return powers_of_two(statistic.buckets.data());
    std::map<int64_t, uint64_t> out;
    for (uint32_t i = 0; i < needs.buckets(); i++)
        if (const BucketBounds bounds = bucket_bounds(needs, i);
            statistic.buckets[i] && bounds.high && *bounds.high != INT64_MAX)
            out[*bounds.high] += statistic.buckets[i];
    return out;
}

// Returns the bounds that every histogram of this type has, whatever its values. Monitoring systems add buckets of
// several series and moments by their bounds, which works only if the bounds are the same. These are powers of two up
// to 2^36 (a minute in nanoseconds). Larger and negative bounds are added when they have values.
std::set<int64_t> usual_bounds(const plan::StatsNeeds& needs) {
    std::set<int64_t> out;
    if (needs.buckets() == 0 || needs.histogram == plan::StatsNeeds::Log) {
        constexpr int64_t most = int64_t{1} << 36;
        for (int64_t bound = 0; bound < most; bound = 2 * bound + 1)
            out.insert(bound);
        return out;
    }
    for (uint32_t i = 0; i < needs.buckets(); i++)
        if (const BucketBounds bounds = bucket_bounds(needs, i);
            bounds.high && *bounds.high >= 0 && *bounds.high != INT64_MAX)
            out.insert(*bounds.high);
    return out;
}

// Returns the usual bounds, and those that an element needs in addition.
std::set<int64_t> bounds_of(const plan::StatsNeeds& needs, const std::vector<ArrayElement>& elements) {
    std::set<int64_t> out;
    if (!plan::keeps_distribution(needs))
        return out;
    out = usual_bounds(needs);
    for (const ArrayElement& element : elements)
        for (const auto& [bound, count] : bucket_counts(needs, statistic_of(needs, element.payload.data())))
            out.insert(bound);
    return out;
}

// Fills a point with the counts up to each bound. All points of a family have the same bounds.
void fill_histogram(const plan::StatsNeeds& needs, const Statistic& statistic, const std::set<int64_t>& bounds,
                    MetricPoint& point) {
    point.sum = statistic.block.sum;
    point.count = statistic.block.count;
    if (!plan::keeps_distribution(needs))
        return;
    // Use the sum of the buckets as count. Handlers update the parts of a statistic one after the other, so its own
    // count could differ from the buckets.
    point.count = 0;
    const size_t buckets = needs.buckets() ? size_t{needs.buckets()} : size_t{SONDE_QUANTILE_BUCKETS};
    for (size_t i = 0; i < buckets; i++)
        point.count += statistic.buckets[i];
    const std::map<int64_t, uint64_t> counts = bucket_counts(needs, statistic);
    auto next = counts.begin();
    uint64_t up_to_here = 0;
    for (const int64_t bound : bounds) {
        for (; next != counts.end() && next->first <= bound; ++next)
            up_to_here += next->second;
        point.buckets.emplace_back(bound, up_to_here);
    }
}

// Returns the series of a point. A histogram has one for each bound, and three for the unbounded bucket, the count and
// the sum.
size_t series_of(MetricKind kind, size_t bounds) { return kind == MetricKind::Histogram ? bounds + 3 : 1; }

// Creates a family without points.
MetricFamily own(std::string name, std::string help, MetricKind kind, std::vector<std::string> labels) {
    MetricFamily out;
    out.name = std::move(name);
    out.help = std::move(help);
    out.kind = kind;
    out.labels = std::move(labels);
    return out;
}

MetricPoint number_point(std::vector<std::string> labels, uint64_t number) {
    MetricPoint out;
    out.labels = std::move(labels);
    out.number = static_cast<int64_t>(number);
    return out;
}
MetricPoint real_point(std::vector<std::string> labels, double real) {
    MetricPoint out;
    out.labels = std::move(labels);
    out.real = real;
    return out;
}

// Adds the families with the session's own numbers.
void add_own(const plan::Plan& plan, const MetricNames& names, const MetricsPicture& picture,
             const std::vector<uint64_t>& left_out, std::vector<MetricFamily>& out) {
    MetricFamily info = own("sonde_script", "the running script", MetricKind::Info, {"script"});
    info.points.push_back(number_point({plan.script}, 1));
    out.push_back(std::move(info));
    MetricFamily start =
        own("sonde_session_start_time_seconds", "when the session began, since 1970", MetricKind::Gauge, {});
    start.unit = "seconds";
    start.is_real = true;
    start.points.push_back(real_point({}, static_cast<double>(picture.began_ns) / 1e9));
    out.push_back(std::move(start));
    MetricFamily took = own("sonde_scrape_duration_seconds", "time to collect these metrics", MetricKind::Gauge, {});
    took.unit = "seconds";
    took.is_real = true;
    took.points.push_back(real_point({}, static_cast<double>(picture.took_ns) / 1e9));
    out.push_back(std::move(took));
    MetricFamily errors = own("sonde_errors", "errors of handlers", MetricKind::Counter, {});
    errors.points.push_back(number_point({}, picture.errors));
    out.push_back(std::move(errors));
    MetricFamily skipped = own("sonde_skipped", "hits whose handler did not run", MetricKind::Counter, {});
    skipped.points.push_back(number_point({}, picture.skipped));
    out.push_back(std::move(skipped));

    if (const std::optional<OtlpNumbers>& pushes = picture.pushes) {
        MetricFamily pushed =
            own("sonde_otlp_pushes", "pushes that the collector accepted", MetricKind::Counter, {"signal"});
        MetricFamily dropped =
            own("sonde_otlp_dropped", "pushes of metrics, lines and spans that the collector did not accept",
                MetricKind::Counter, {"signal"});
        for (size_t signal = 0; signal < otlp_signal_count; signal++) {
            pushed.points.push_back(number_point({otlp_signals[signal].name}, pushes->pushed[signal]));
            dropped.points.push_back(number_point({otlp_signals[signal].name}, pushes->dropped[signal]));
        }
        out.push_back(std::move(pushed));
        out.push_back(std::move(dropped));
        MetricFamily retries = own("sonde_otlp_retries", "retries of pushes", MetricKind::Counter, {});
        retries.points.push_back(number_point({}, pushes->retries));
        out.push_back(std::move(retries));
        MetricFamily unseen =
            own("sonde_otlp_unseen_returns", "spans of calls without an observed return", MetricKind::Counter, {});
        unseen.points.push_back(number_point({}, pushes->unseen_returns));
        out.push_back(std::move(unseen));
    }

    const std::vector<std::string> labels = {"probe", "place"};
    MetricFamily hits = own("sonde_probe_hits", "hits of the probe", MetricKind::Counter, labels);
    MetricFamily spent = own("sonde_probe_seconds", "running time of the probe's handlers, on all processors",
                             MetricKind::Counter, labels);
    spent.unit = "seconds";
    spent.is_real = true;
    MetricFamily by_kind[] = {
        own("sonde_probe_skipped", "hits whose handler did not run: no memory, no lock", MetricKind::Counter, labels),
        own("sonde_probe_lost", "records that did not fit the buffers between the kernel and sonde",
            MetricKind::Counter, labels),
        own("sonde_probe_missed", "hits that the kernel did not pass to the handler", MetricKind::Counter, labels),
        own("sonde_probe_errors", "hits whose handler ended with an error", MetricKind::Counter, labels)};
    // Several probes may have the same place, as in `probe begin, begin`. Their numbers must form one series.
    std::map<std::pair<std::string, std::string>, ProbeNumbers> sums;
    for (size_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        const ProbeNumbers& one = picture.probes[i];
        ProbeNumbers& sum = sums[{probe.points.empty() ? probe.name : probe.points[0].pn, probe.place}];
        sum.hits += one.hits;
        sum.skipped += one.skipped;
        sum.lost += one.lost;
        sum.missed += one.missed;
        sum.failed += one.failed;
        sum.spent_ns += one.spent_ns;
        sum.measured |= one.measured;
    }
    for (const auto& [at, sum] : sums) {
        const std::vector<std::string> values = {at.first, at.second};
        if (sum.measured) {
            hits.points.push_back(number_point(values, sum.hits));
            spent.points.push_back(real_point(values, static_cast<double>(sum.spent_ns) / 1e9));
        }
        const uint64_t numbers[] = {sum.skipped, sum.lost, sum.missed, sum.failed};
        for (size_t kind = 0; kind < std::size(by_kind); kind++)
            by_kind[kind].points.push_back(number_point(values, numbers[kind]));
    }
    out.push_back(std::move(hits));
    out.push_back(std::move(spent));
    for (MetricFamily& family : by_kind)
        out.push_back(std::move(family));

    MetricFamily over = own("sonde_series_left_out", "series that are omitted because of the limit of --metrics-series",
                            MetricKind::Gauge, {"global"});
    MetricFamily unserved =
        own("sonde_globals_left_out", "globals that are not metrics", MetricKind::Gauge, {"global", "reason"});
    for (size_t i = 0; i < plan.globals.size(); i++) {
        const plan::Global& global = plan.globals[i];
        if (!global.is_own)
            continue;
        if (names.globals[i].not_served.empty())
            over.points.push_back(number_point({global.name}, left_out[i]));
        else
            unserved.points.push_back(number_point({global.name, names.globals[i].not_served}, 1));
    }
    out.push_back(std::move(over));
    out.push_back(std::move(unserved));
}

} // namespace

std::string metric_name(const std::string& text, const std::string& otherwise) {
    std::string out = mangle(text);
    return out.find_first_not_of('_') == std::string::npos ? otherwise : out;
}

// Labels that begin with `__` are reserved for Prometheus, so all leading underscores are removed.
std::string label_name(const std::string& text, const std::string& otherwise) {
    std::string out = mangle(text);
    out.erase(0, std::min(out.find_first_not_of('_'), out.size()));
    if (!out.empty() && std::isdigit(static_cast<unsigned char>(out[0])) != 0)
        out.insert(0, "_");
    return out.empty() ? otherwise : out;
}

// Distributes the limit fairly (max-min fairness): small arrays get all their series, and the remaining ones share the
// rest equally. With a limit of 100, arrays that want 10, 60 and 200 series get 10, 45 and 45. Scalars always get
// theirs, since the script declares only few.
std::vector<uint64_t> share_out(const std::vector<FamilyDemand>& wanted, uint64_t most) {
    std::vector<uint64_t> out(wanted.size());
    std::vector<size_t> arrays;
    for (size_t i = 0; i < wanted.size(); i++) {
        if (wanted[i].is_array) {
            arrays.push_back(i);
            continue;
        }
        out[i] = wanted[i].series;
        most -= std::min(most, out[i]);
    }
    std::ranges::stable_sort(arrays, {}, [&](size_t i) { return wanted[i].series; });
    for (size_t at = 0; at < arrays.size(); at++) {
        const uint64_t share = most / (arrays.size() - at);
        uint64_t& mine = out[arrays[at]];
        mine = std::min(wanted[arrays[at]].series, share);
        most -= mine;
    }
    return out;
}

// Arrays with stacks in their keys are not metrics: each stack would be a series.
MetricNames name_metrics(const plan::Plan& plan) {
    MetricNames out;
    std::set<std::string> taken;
    for (const plan::Global& global : plan.globals) {
        MetricNames::Of& of = out.globals.emplace_back();
        if (!global.is_own)
            continue;
        if (std::ranges::any_of(global.keys, is_stack, &plan::KeyPart::role)) {
            of.not_served = "its key is a stack";
            continue;
        }
        of.kind = global.type == plan::Value::String  ? MetricKind::Info
                  : global.type == plan::Value::Stats ? MetricKind::Histogram
                  : global.only_grows                 ? MetricKind::Counter
                                                      : MetricKind::Gauge;
        std::string wanted = metric_name(global.name, "global");
        for (const char* ending : {"_total", "_info"})
            if (of.kind == (std::strcmp(ending, "_info") == 0 ? MetricKind::Info : MetricKind::Counter) &&
                wanted.size() > std::strlen(ending) && wanted.ends_with(ending))
                wanted.resize(wanted.size() - std::strlen(ending));
        // This prefix is reserved for the session's own families.
        if (wanted.starts_with("sonde_"))
            wanted.insert(0, "script_");
        of.name = first_free(wanted, [&](const std::string& name) {
            const std::vector<std::string> all = sample_names(name, of.kind);
            return std::ranges::none_of(all, [&](const std::string& one) { return taken.contains(one); });
        });
        for (std::string& name : sample_names(of.name, of.kind))
            taken.insert(std::move(name));
        std::set<std::string> used;
        if (of.kind == MetricKind::Histogram)
            used.insert("le");
        if (of.kind == MetricKind::Info)
            used.insert("value");
        of.labels = label_names(global, used);
        if (of.kind == MetricKind::Info)
            of.labels.emplace_back("value");
    }
    return out;
}

// Elements are in order of insertion. When the share of an array is used up, later elements are omitted and counted.
std::vector<MetricFamily> make_families(const plan::Plan& plan, const MetricNames& names, const MetricsPicture& picture,
                                        uint64_t most_series) {
    std::vector<MetricFamily> out;
    std::vector<std::set<int64_t>> bounds(plan.globals.size());
    std::vector<FamilyDemand> wanted(plan.globals.size());
    for (size_t i = 0; i < plan.globals.size(); i++) {
        const plan::Global& global = plan.globals[i];
        if (names.globals[i].name.empty())
            continue;
        if (global.type == plan::Value::Stats)
            bounds[i] = bounds_of(global.stats, picture.globals[i]);
        wanted[i] = {picture.globals[i].size() * series_of(names.globals[i].kind, bounds[i].size()),
                     !global.keys.empty()};
    }
    const std::vector<uint64_t> shares = share_out(wanted, most_series);
    std::vector<uint64_t> left_out(plan.globals.size());
    for (size_t i = 0; i < plan.globals.size(); i++) {
        const plan::Global& global = plan.globals[i];
        const MetricNames::Of& of = names.globals[i];
        if (of.name.empty())
            continue;
        MetricFamily family =
            own(of.name, fmt::format("the global {} of {}", global.name, plan.script), of.kind, of.labels);
        family.is_by_twos = global.type == plan::Value::Stats && plan::keeps_distribution(global.stats) &&
                            global.stats.histogram != plan::StatsNeeds::Linear;
        const size_t each = series_of(of.kind, bounds[i].size());
        uint64_t room = shares[i];
        for (const ArrayElement& element : picture.globals[i]) {
            if (room < each) {
                left_out[i] += each;
                family.is_cut = true;
                continue;
            }
            room -= each;
            MetricPoint point;
            const char* payload = element.payload.data();
            if (global.type == plan::Value::Long)
                std::memcpy(&point.number, payload, sizeof point.number);
            else if (global.type == plan::Value::Stats)
                fill_histogram(global.stats, statistic_of(global.stats, payload), bounds[i], point);
            for (KeyValue& key : key_values(plan, global, element))
                point.labels.push_back(key.is_text ? std::move(key.text) : std::to_string(key.number));
            if (of.kind == MetricKind::Info) {
                point.number = 1;
                point.labels.push_back(string_at(payload, plan.max_string));
            }
            family.points.push_back(std::move(point));
        }
        out.push_back(std::move(family));
    }
    add_own(plan, names, picture, left_out, out);
    return out;
}

} // namespace sonde
