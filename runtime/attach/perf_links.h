// Perf events with one program at all of them.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/attach/attach.h"

struct bpf_program;

namespace sonde {

class PerfLinks final : public Attachment {
  public:
    // The program's cookie is the point's row.
    PerfLinks(bpf_object* object, const std::string& program, const plan::Point& point);
    PerfLinks(const PerfLinks&) = delete;
    PerfLinks& operator=(const PerfLinks&) = delete;
    ~PerfLinks() override;

    // Opens the event in a thread, or with -1 on a processor, and attaches the program. A processor that is switched
    // off and a thread that has ended are left out. Errors: what the kernel says of the event.
    Result<void> add(perf_event_attr attr, pid_t thread, int cpu);

  private:
    bpf_program* program_;
    std::string pp_;
    uint64_t cookie_;
    std::vector<bpf_link*> links_; // own the events
};

} // namespace sonde
