// Performance counters (perf_event_open(2)): those that run a handler every so many events, and those that handlers
// read.
//
// A counter of a thread also counts in its new threads and child processes (`inherit`), and runs its program there.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"
#include "runtime/attach/perf_links.h"
#include "runtime/plan/object_names.h"

namespace sonde {
namespace {

perf_event_attr attributes(const plan::PerfSpec& perf) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = perf.type;
    attr.config = perf.config;
    attr.freq = perf.is_frequency;
    attr.sample_period = perf.sample; // shares its place with sample_freq
    return attr;
}

// The counters that handlers read: one perf event for each counter and processor.
class Events final : public Attachment {
  public:
    Events(const plan::Plan& plan, const KernelObject& kernel)
        : plan_(plan), counters_(kernel.map_fd(plan::maps::counters)), counted_(kernel.map_fd(plan::maps::counted)) {
        for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
            for (size_t i = 0; i < plan.counters.size(); i++)
                events_.push_back({Fd(), static_cast<int>(cpu), i, {}});
    }

    Result<void> open() {
        for (uint32_t index = 0; index < events_.size(); index++)
            if (Result<void> opened = open(index); !opened)
                return opened;
        return {};
    }

    // Reopens the events of processors that were off. A new event starts at 0. So the previous value in `sonde_counted`
    // must be reset, or a handler would compute a negative difference.
    void look_after() override {
        for (uint32_t index = 0; index < events_.size(); index++) {
            Event& one = events_[index];
            if (one.fd && one.life.goes_on(one.fd.get()))
                continue;
            constexpr uint64_t none = 0;
            bpf_map_delete_elem(counters_, &index);
            bpf_map_update_elem(counted_, &index, &none, BPF_ANY);
            one.fd.reset();
            static_cast<void>(open(index));
        }
    }

  private:
    struct Event {
        Fd fd; // empty: the processor is off
        int cpu;
        size_t counter;
        EventLife life;
    };

    Result<void> open(uint32_t index) {
        Event& one = events_[index];
        perf_event_attr attr = attributes(plan_.counters[one.counter].perf);
        attr.read_format = EventLife::read_format;
        Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, one.cpu, -1, PERF_FLAG_FD_CLOEXEC)));
        if (!event && errno == ENODEV)
            return {};
        const int fd = event.get();
        if (!event || bpf_map_update_elem(counters_, &index, &fd, BPF_ANY) != 0)
            return errno_error(fmt::format("cannot count for the counter `{}`", plan_.counters[one.counter].name),
                               errno);
        one.fd = std::move(event);
        one.life = {};
        return {};
    }

    const plan::Plan& plan_;
    int counters_, counted_;
    std::vector<Event> events_;
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
        if (Result<void> added = out->add_processors(attr); !added)
            return std::move(added).error();
    for (int64_t thread : threads)
        if (Result<void> added = out->add_thread(attr, static_cast<pid_t>(thread)); !added)
            return std::move(added).error();
    return std::unique_ptr<Attachment>(std::move(out));
}

Result<Attachments> open_counters(const plan::Plan& plan, const KernelObject& kernel) {
    Attachments out;
    if (plan.counters.empty())
        return out;
    auto events = std::make_unique<Events>(plan, kernel);
    if (Result<void> opened = events->open(); !opened)
        return std::move(opened).error();
    out.push_back(std::move(events));
    Result<std::unique_ptr<Attachment>> switches =
        attach_raw_tracepoint(kernel.program_fd(plan::programs::count_switch), "sched_switch");
    if (!switches)
        return std::move(switches).error();
    out.push_back(*std::move(switches));
    return out;
}

} // namespace sonde
