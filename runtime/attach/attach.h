// Attaching programs to code. One mechanism a file; uprobe_multi where the kernel has it, perf_event where not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <bpf/libbpf.h>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/attach/sound_places.h"
#include "runtime/load/load.h"
#include "runtime/plan/plan.h"
#include "runtime/processes/memory_check.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// What bpf_link_info says of breakpoints (6.7, "bpf: Add missed value to kprobe perf link info" and "... to
// kprobe_multi link info"); 0 where it does not.
uint64_t missed_by_link(int fd);

// What keeps programs attached; destroying it detaches.
class Attachment {
  public:
    static constexpr uint32_t no_probe = UINT32_MAX;
    virtual ~Attachment() = default;
    // Of which probe it is (index in Plan::probes); no_probe: of none, or of several.
    uint32_t probe = no_probe;
    // Called once, when handlers may run: iterators run theirs now. Errors: why they could not be run to the end.
    virtual Result<void> begin() { return {}; }
    // Now and then while handlers run: a processor's events end when it is switched off, and are opened anew when it is
    // back.
    virtual void look_after() {}
    // Hits that did not come to the program, as far as the kernel counts them.
    virtual uint64_t missed() const { return 0; }
};
// A link is a descriptor.
class LinkAttachment final : public Attachment {
  public:
    explicit LinkAttachment(int fd) : fd_(fd) {}
    uint64_t missed() const override { return missed_by_link(fd_.get()); }

  private:
    Fd fd_;
};
// A link of libbpf's own.
class BpfLink final : public Attachment {
  public:
    explicit BpfLink(bpf_link* link) : link_(link) {}
    BpfLink(const BpfLink&) = delete;
    BpfLink& operator=(const BpfLink&) = delete;
    ~BpfLink() override { bpf_link__destroy(link_); }
    uint64_t missed() const override { return missed_by_link(bpf_link__fd(link_)); }

  private:
    bpf_link* link_;
};
using Attachments = std::vector<std::unique_ptr<Attachment>>;

// Where one program goes in one file, or in the kernel: `path` is empty then, and `offsets` are addresses.
struct UprobeTargets {
    std::string program, path;
    std::string attach_name; // by which the kernel finds the file (probed_files.h)
    uint32_t probe = Attachment::no_probe;
    int64_t process = 0; // the only one whose hits are wanted; 0: all
    bool at_return = false, is_session = false;
    std::vector<uint64_t> offsets, ref_ctr_offsets, cookies;
    std::vector<std::string> names; // of the points, for messages
};

// One link for all of them (6.6, "bpf: Add multi uprobe link").
Result<std::unique_ptr<Attachment>> attach_uprobe_multi(int program_fd, const UprobeTargets& targets);
// One perf event for each.
Result<std::unique_ptr<Attachment>> attach_perf_event(bpf_object* object, const UprobeTargets& targets);

// Many breakpoints in the kernel by one link (5.18, "bpf: Add multi kprobe link"; the kernel refuses all if it refuses
// one).
Result<std::unique_ptr<Attachment>> attach_kprobe_multi(int program_fd, const UprobeTargets& targets);

// A program of the probe for one of its points.
struct PointToAttach {
    const plan::Probe& probe;
    const plan::Point& point;
    const std::string& program; // the probe's, or the one that saves values at the entry
    const KernelObject& kernel;
    const std::vector<int64_t>& threads; // of the target, in which events are counted; empty: on every processor

    int program_fd() const { return kernel.program_fd(program); }
    bool saves_entry() const { return program != probe.symbol; }
};
// What mechanisms.def names, each in a file of its own. Errors: the kernel's refusal, with the point.
using AttachPoint = Result<std::unique_ptr<Attachment>>(const PointToAttach&);
AttachPoint attach_tracepoint, attach_kprobe, attach_trampoline, attach_profile, attach_counter, attach_netfilter,
    attach_iterator;
// At accesses to memory of the kernel; that of processes is watched by Watchpoints.
AttachPoint attach_watchpoint;
// Why this machine does not report accesses to memory, tried with a word of sonde's own. Empty: it does, or it does not
// let one try; then attaching gives the error.
std::string why_no_watchpoints();

// The counters that handlers read.
Result<Attachments> open_counters(const plan::Plan& plan, const KernelObject& kernel);

struct ToArm {
    std::vector<int64_t> threads; // of the target, in which events are counted; empty: on every processor
    LeftOut left_out;
    std::function<bool()> stop; // asked now and then: whether the session was told to end
};

// All probes of the plan that something hits. Of many places of one probe, those whose instruction the kernel cannot
// probe are left out and named in `refused`. Errors name the probe point and the reason; then nothing stays attached.
// Files are attached to as `files` names them, at the offsets that `places` allows. An error of EINTR: ToArm::stop said
// so.
Result<Attachments> attach_probes(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files,
                                  const SoundPlaces& places, const plan::Ways& ways, const ToArm& to_arm,
                                  std::vector<std::string>& refused);

// A program that is not bound to one tracepoint.
Result<std::unique_ptr<Attachment>> attach_raw_tracepoint(int program_fd, const char* tracepoint);
// A program for system calls to `sys_enter` or `sys_exit`, in the way that it was made for.
Result<std::unique_ptr<Attachment>> attach_syscalls(const KernelObject& kernel, const std::string& program,
                                                    const char* tracepoint);

// Tells the kernel's side whom process probes are about; holds the programs' files.
Result<Attachments> attach_subjects(const plan::Plan& plan, const KernelObject& kernel);
// Probes on processes, threads and system calls.
Result<Attachments> attach_task_events(const plan::Plan& plan, const KernelObject& kernel);
// Runs the process and thread begin probes for what is there already, except the process `waiting`.
void begin_running_tasks(const plan::Plan& plan, const KernelObject& kernel, int64_t waiting);

// The error number of counting these events in this process; 0: they can be counted.
int try_counter(const plan::PerfSpec& perf);

// An error if the plan probes the kernel in a way that this kernel does not have: which one, and why.
Result<void> check_probing(const plan::Plan& plan);

} // namespace sonde
