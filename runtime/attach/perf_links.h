// Perf events with one program at all of them.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/attach/attach.h"

struct bpf_program;

namespace sonde {

// Whether a processor's event still counts. The kernel stops its clock for good when the processor is switched off, and
// says nothing of that; in a suspended machine all processors but the first one are.
class EventLife {
  public:
    // What an event is to be opened with.
    static constexpr uint64_t read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
    // Whether time has passed for the event since the last call. The first one says yes.
    bool goes_on(int event);

  private:
    uint64_t enabled_ns_ = 0;
};

class PerfLinks final : public Attachment {
  public:
    // The program's cookie is the point's row.
    PerfLinks(bpf_object* object, const std::string& program, const plan::Point& point);
    PerfLinks(const PerfLinks&) = delete;
    PerfLinks& operator=(const PerfLinks&) = delete;
    ~PerfLinks() override;

    // Opens the event in a thread and attaches the program. A thread that has ended is left out. Errors: what the
    // kernel says of the event.
    Result<void> add_thread(const perf_event_attr& attr, pid_t thread);
    // The same on each processor that there can be. One that is switched off has none until it is switched on.
    Result<void> add_processors(const perf_event_attr& attr);

    void look_after() override;

  private:
    struct Link {
        bpf_link* link = nullptr; // owns the event; null: the processor is off
        int event = -1;
        perf_event_attr attr{};
        int cpu = -1; // -1: of a thread
        EventLife life;
    };
    Result<void> open(Link& link, pid_t thread);

    bpf_program* program_;
    std::string pp_;
    uint64_t cookie_;
    std::vector<Link> links_;
};

} // namespace sonde
