// Attaches one program to several perf events, one for each thread or processor.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/attach/attach.h"

struct bpf_program;

namespace sonde {

// Detects events that have ended without notice. The kernel stops the clock of a processor's event permanently when
// that processor is switched off, and sends no notification. Suspending the machine switches off all processors except
// the first.
class EventLife {
  public:
    // The value that perf_event_attr::read_format needs for goes_on().
    static constexpr uint64_t read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
    // Returns whether the event's clock has advanced since the last call. The first call returns true.
    bool goes_on(int event);

  private:
    uint64_t enabled_ns_ = 0;
};

// The events of one probe point. Destroying the object detaches the program from all of these.
class PerfLinks final : public Attachment {
  public:
    // The program's cookie is the point's row (Point::row).
    PerfLinks(bpf_object* object, const std::string& program, const plan::Point& point);
    PerfLinks(const PerfLinks&) = delete;
    PerfLinks& operator=(const PerfLinks&) = delete;
    ~PerfLinks() override;

    // Opens the event in a thread and attaches the program. Skips threads that have ended. Returns the kernel's error
    // for the event.
    Result<void> add_thread(const perf_event_attr& attr, pid_t thread);
    // Does the same on each possible processor. A processor that is switched off gets its event when it is switched on.
    Result<void> add_processors(const perf_event_attr& attr);

    void look_after() override;

  private:
    // An event in one thread or on one processor.
    struct Link {
        bpf_link* link = nullptr; // owns the event; null: the processor is off
        int event = -1;
        perf_event_attr attr{};
        int cpu = -1; // -1: the event belongs to a thread
        EventLife life;
    };
    // Leaves `link` empty if the thread has ended or the processor is off.
    Result<void> open(Link& link, pid_t thread);

    bpf_program* program_;
    std::string pp_;
    uint64_t cookie_;
    std::vector<Link> links_;
};

} // namespace sonde
