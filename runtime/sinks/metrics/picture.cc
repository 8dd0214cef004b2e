#include "runtime/sinks/metrics/picture.h"
#include "runtime/plan/object_names.h"

#include <bpf/bpf.h>

#include <algorithm>

#include "base/clock.h"
#include "runtime/plan/counts.h"
#include "runtime/sinks/metrics/otlp_pusher.h"
#include "runtime/values/array_values.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

size_t scalar_bytes(const plan::Plan& plan, const plan::Global& global) {
    return global.type == plan::Value::Long     ? 8
           : global.type == plan::Value::String ? plan.max_string
                                                : plan::stats_bytes(global.stats);
}

// Arrays with stacks in their keys are not metrics, so they are not read. The buckets for percentiles are read, since
// they become a histogram.
bool is_series(const plan::Global& global) {
    return global.is_own && std::ranges::none_of(global.keys, is_stack, &plan::KeyPart::role);
}

// The accounting of a probe: of a host handler from this process, of a kernel handler from the kernel's maps. The
// kernel counts missed hits of each program separately.
ProbeNumbers numbers_of(const SessionData& data, uint32_t index) {
    const plan::Probe& probe = data.plan.probes[index];
    ProbeNumbers out;
    if (!probe.in_kernel) {
        const plan::ProbeTiming timing = data.hit_report.timing_of(probe);
        const auto errors = data.errors.find(&probe);
        out.hits = timing.hits;
        out.spent_ns = timing.total_ns;
        out.failed = errors == data.errors.end() ? 0 : errors->second.count;
        out.measured = true;
        return out;
    }
    plan::ProbeCounts counts{};
    if (bpf_map_lookup_elem(data.kernel->map_fd(plan::maps::counts), &index, &counts) == 0) {
        out.skipped = counts.skipped + counts.waited;
        out.lost = counts.lost;
        out.failed = counts.errors;
    }
    const auto missed = data.missed.find(index);
    out.missed = (missed == data.missed.end() ? 0 : missed->second) + data.kernel->missed_by(probe.symbol) +
                 (probe.entry_program.empty() ? 0 : data.kernel->missed_by(probe.entry_program)) + counts.unsaved;
    if (!data.plan.translate.keeps_times)
        return out;
    plan::ProbeTiming timing{};
    for (const plan::Point& point : probe.points)
        add_timing(timing, timing_of(*data.kernel, point.row));
    out.hits = timing.hits;
    out.spent_ns = timing.total_ns;
    out.measured = true;
    return out;
}

} // namespace

// This delays the session, so it only copies. took_ns becomes a metric, which shows the delay to the user.
MetricsPicture take_metrics_picture(const SessionData& data, const OtlpPusher* pusher, int64_t began_ns) {
    MetricsPicture out;
    const int64_t begin = now_ns();
    out.began_ns = began_ns;
    out.time_ns = real_time_ns();
    out.errors = __atomic_load_n(&data.words->errors, __ATOMIC_RELAXED);
    out.skipped = __atomic_load_n(&data.words->skipped, __ATOMIC_RELAXED);
    for (size_t i = 0; i < data.plan.globals.size(); i++) {
        const plan::Global& global = data.plan.globals[i];
        std::vector<ArrayElement>& elements = out.globals.emplace_back();
        if (!is_series(global))
            continue;
        if (global.keys.empty())
            elements.push_back({0, "", std::string(data.scalar(global), scalar_bytes(data.plan, global))});
        else
            elements = data.arrays[i]->snapshot();
    }
    for (uint32_t i = 0; i < data.plan.probes.size(); i++)
        out.probes.push_back(numbers_of(data, i));
    if (pusher)
        out.pushes = pusher->numbers();
    out.took_ns = now_ns() - begin;
    return out;
}

} // namespace sonde
