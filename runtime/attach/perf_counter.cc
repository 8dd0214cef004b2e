// Counters of events: those whose handlers run every so many events, and those that handlers read.
//
// perf_event_open(2). A counter of a thread goes on in what the thread starts (`inherit`), and so does its program.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"
#include "runtime/attach/perf_links.h"
#include "runtime/session.h"

namespace sonde {
namespace {

perf_event_attr attributes(const plan::PerfSpec& perf) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = perf.type;
    attr.config = perf.config;
    attr.freq = perf.is_frequency;
    attr.sample_period = perf.sample; // or sample_freq, in the same place
    return attr;
}

class Events final : public Attachment {
  public:
    std::vector<Fd> events;
};

} // namespace

int try_counter(const plan::PerfSpec& perf) {
    perf_event_attr attr = attributes(perf);
    attr.disabled = 1;
    Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    return event ? 0 : errno;
}

Result<std::unique_ptr<Attachment>> attach_counter(const PointToAttach& one) {
    const std::vector<int64_t>& threads = one.threads;
    auto out = std::make_unique<PerfLinks>(one.kernel.object(), one.program, one.point);
    perf_event_attr attr = attributes(one.point.perf);
    attr.inherit = !threads.empty();
    if (threads.empty())
        for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
            if (Result<void> added = out->add(attr, -1, static_cast<int>(cpu)); !added)
                return std::move(added).error();
    for (int64_t thread : threads)
        if (Result<void> added = out->add(attr, static_cast<pid_t>(thread), -1); !added)
            return std::move(added).error();
    return std::unique_ptr<Attachment>(std::move(out));
}

Result<Attachments> open_counters(const plan::Plan& plan, const KernelObject& kernel) {
    Attachments out;
    auto events = std::make_unique<Events>();
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (size_t i = 0; i < plan.counters.size(); i++) {
        perf_event_attr attr = attributes(plan.counters[i].perf);
        for (long cpu = 0; cpu < processors; cpu++) {
            Fd event(static_cast<int>(
                syscall(SYS_perf_event_open, &attr, -1, static_cast<int>(cpu), -1, PERF_FLAG_FD_CLOEXEC)));
            if (!event && errno == ENODEV) // switched off
                continue;
            auto index = static_cast<uint32_t>(static_cast<size_t>(cpu) * plan.counters.size() + i);
            int fd = event.get();
            if (!event || bpf_map_update_elem(kernel.map_fd("sonde_counters"), &index, &fd, BPF_ANY) != 0)
                return errno_error(fmt::format("cannot count for the counter `{}`", plan.counters[i].name), errno);
            events->events.push_back(std::move(event));
        }
    }
    if (plan.counters.empty())
        return out;
    out.push_back(std::move(events));
    Result<std::unique_ptr<Attachment>> switches =
        attach_raw_tracepoint(kernel.program_fd("sonde_count_switch"), "sched_switch");
    if (!switches)
        return std::move(switches).error();
    out.push_back(*std::move(switches));
    return out;
}

} // namespace sonde
