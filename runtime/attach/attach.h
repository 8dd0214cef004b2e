// Attaching programs to user-space code. One mechanism a file; uprobe_multi where the kernel has it, perf_event where
// not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/load.h"
#include "runtime/plan.h"

namespace sonde {

// What keeps programs attached; destroying it detaches.
class Attachment {
  public:
    virtual ~Attachment() = default;
};
using Attachments = std::vector<std::unique_ptr<Attachment>>;

// Where one program goes in one file.
struct UprobeTargets {
    std::string program, path;
    bool at_return = false;
    std::vector<uint64_t> offsets, ref_ctr_offsets, cookies;
    std::vector<std::string> names; // of the points, for messages
};

// One link for all of them (6.6, "bpf: Add multi uprobe link").
Result<std::unique_ptr<Attachment>> attach_uprobe_multi(int program_fd, const UprobeTargets& targets);
// One perf event for each.
Result<std::unique_ptr<Attachment>> attach_perf_event(bpf_object* object, const UprobeTargets& targets);

// All user-space probes of the plan. Of many places of one probe, those whose instruction the kernel cannot probe are
// left out and named in `refused`. Errors name the probe point and the reason; then nothing stays attached.
Result<Attachments> attach_probes(const plan::Plan& plan, const KernelObject& kernel, bool multi,
                                  std::vector<std::string>& refused);

// The programs that follow the target's children.
Result<std::unique_ptr<Attachment>> attach_tracing(bpf_object* object, const char* program);

} // namespace sonde
