// profile probes: a software perf event on each processor interrupts the running code at regular intervals.
#include <linux/perf_event.h>
#include <time.h>

#include "runtime/attach/attach.h"
#include "runtime/attach/perf_links.h"

namespace sonde {

Result<std::unique_ptr<Attachment>> attach_profile(const PointToAttach& one) {
    const uint64_t interval_ns = one.probe.timer.interval_ns;
    timespec tick{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = interval_ns ? interval_ns : static_cast<uint64_t>(tick.tv_nsec);
    auto out = std::make_unique<PerfLinks>(one.kernel.object(), one.program, one.point);
    if (Result<void> added = out->add_processors(attr); !added)
        return std::move(added).error();
    return std::unique_ptr<Attachment>(std::move(out));
}

} // namespace sonde
