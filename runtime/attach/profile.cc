// The clock of each processor, as software perf events: their handlers see what they interrupt.
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "runtime/attach/attach.h"

namespace sonde {
namespace {

class Clocks final : public Attachment {
  public:
    Clocks() = default;
    Clocks(const Clocks&) = delete;
    Clocks& operator=(const Clocks&) = delete;
    ~Clocks() override {
        for (bpf_link* link : links)
            bpf_link__destroy(link);
    }
    std::vector<bpf_link*> links;
};

} // namespace

Result<std::unique_ptr<Attachment>> attach_profile(bpf_object* object, const std::string& name,
                                                   const plan::Point& point, uint64_t interval_ns) {
    timespec tick{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = interval_ns ? interval_ns : static_cast<uint64_t>(tick.tv_nsec);
    bpf_program* program = bpf_object__find_program_by_name(object, name.c_str());
    auto out = std::make_unique<Clocks>();
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < processors; cpu++) {
        long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0 && errno == ENODEV) // switched off
            continue;
        if (fd < 0)
            return errno_error(fmt::format("cannot attach to {}", point.pp), errno);
        bpf_perf_event_opts options{};
        options.sz = sizeof options;
        options.bpf_cookie = point.row;
        bpf_link* link = bpf_program__attach_perf_event_opts(program, static_cast<int>(fd), &options);
        if (!link) {
            int err = errno;
            close(static_cast<int>(fd));
            return errno_error(fmt::format("cannot attach to {}", point.pp), err);
        }
        out->links.push_back(link); // owns the event
    }
    return std::unique_ptr<Attachment>(std::move(out));
}

} // namespace sonde
