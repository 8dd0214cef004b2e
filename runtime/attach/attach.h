// Attaches the loaded programs to code and to events in the kernel. Each mechanism (plan/mechanisms.def) has its own
// file.
//
// Uprobes use one uprobe_multi link for many places if the kernel supports it (6.6), and otherwise one perf event for
// each place.
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
#include "runtime/processes/breakpoint_check.h"
#include "runtime/processes/memory_check.h"
#include "runtime/processes/probed_files.h"

namespace sonde {

// Returns how many hits the kernel could not deliver through a kprobe link (6.7, "bpf: Add missed value to kprobe perf
// link info" and "... to kprobe_multi link info"). Returns 0 for other links and older kernels.
uint64_t missed_by_link(int fd);

// Keeps a program attached; the destructor detaches it.
class Attachment {
  public:
    static constexpr uint32_t no_probe = UINT32_MAX;
    virtual ~Attachment() = default;
    // Index into Plan::probes; no_probe if the attachment serves no probe, or several.
    uint32_t probe = no_probe;
    // The instructions of a program with a uprobe of this attachment: file offsets in the file at `path`. `process`: in
    // this process only; 0: in all. Empty for other attachments.
    std::string path;
    std::vector<uint64_t> offsets;
    int64_t process = 0;
    // Called once when handlers may run. Iterators run their handlers here. Returns an error if an iterator stopped
    // early.
    virtual Result<void> begin() { return {}; }
    // Called repeatedly while handlers run. Reopens the events of processors that were switched off and on again,
    // because the kernel ends the events of a processor that is switched off.
    virtual void look_after() {}
    // The number of hits that the kernel counted but did not deliver to the program; 0 if it does not count them.
    virtual uint64_t missed() const { return 0; }
};
// An attachment whose link is a file descriptor.
class LinkAttachment final : public Attachment {
  public:
    explicit LinkAttachment(int fd) : fd_(fd) {}
    uint64_t missed() const override { return missed_by_link(fd_.get()); }

  private:
    Fd fd_;
};
// An attachment whose link belongs to libbpf.
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

// The instructions with a uprobe of these attachments in a process.
ArmedPlaces armed_places(const Attachments& attachments, int64_t process);

// The places in one file, or in the kernel, at which one program is attached. The vectors have equal lengths. In the
// kernel, `path` is empty and `offsets` contains addresses.
struct UprobeTargets {
    std::string program, path;
    std::string attach_name; // the path that the kernel opens (probed_files.h)
    uint32_t probe = Attachment::no_probe;
    int64_t process = 0; // deliver hits of this process only; 0: of all processes
    bool at_return = false, is_session = false;
    std::vector<uint64_t> offsets, ref_ctr_offsets, cookies;
    std::vector<std::string> names; // names of the probe points, for messages
};

// Creates one uprobe_multi link for all targets (6.6, "bpf: Add multi uprobe link").
Result<std::unique_ptr<Attachment>> attach_uprobe_multi(int program_fd, const UprobeTargets& targets);
// Creates one perf event for each target. Returns an error if one of them fails.
Result<std::unique_ptr<Attachment>> attach_perf_event(bpf_object* object, const UprobeTargets& targets);

// Creates one kprobe_multi link for all targets (5.18, "bpf: Add multi kprobe link"). The kernel refuses all of them if
// it refuses one.
Result<std::unique_ptr<Attachment>> attach_kprobe_multi(int program_fd, const UprobeTargets& targets);

// One probe point, and the program to attach there. All references must stay valid during the call.
struct PointToAttach {
    const plan::Probe& probe;
    const plan::Point& point;
    const std::string& program; // the probe's program, or the one that saves values at the function's entry
    const KernelObject& kernel;
    const std::vector<int64_t>& threads; // count events in these threads of the target; empty: on all processors

    int program_fd() const { return kernel.program_fd(program); }
    bool saves_entry() const { return program != probe.symbol; }
};
// Implementations for the rows of mechanisms.def. Returned errors name the probe point and the reason.
using AttachPoint = Result<std::unique_ptr<Attachment>>(const PointToAttach&);
AttachPoint attach_tracepoint, attach_kprobe, attach_trampoline, attach_profile, attach_counter, attach_netfilter,
    attach_iterator;
// Watches memory of the kernel. Watchpoints watches the memory of processes.
AttachPoint attach_watchpoint;
// Tests with a variable of sonde's own whether this machine reports accesses to memory. Returns the reason if not.
// Returns an empty string if it does, and also if the test cannot run: attaching then reports the error.
std::string why_no_watchpoints();

// Opens the performance counters that handlers read.
Result<Attachments> open_counters(const plan::Plan& plan, const KernelObject& kernel);

// Where events are counted, which instructions to skip, and when to stop.
struct ToArm {
    std::vector<int64_t> threads; // count events in these threads of the target; empty: on all processors
    LeftOut left_out;
    std::function<bool()> stop; // called repeatedly; returns true when the session should end
};

// Attaches all probes of the plan that wait for events. `files` and `places` decide which path and offset each point
// uses. Skips instructions that the kernel cannot probe, and appends the names of these points to `refused`. Returns an
// error with the probe point and the reason; then nothing stays attached. EINTR: ToArm::stop returned true.
Result<Attachments> attach_probes(const plan::Plan& plan, const KernelObject& kernel, const ProbedFiles& files,
                                  const SoundPlaces& places, const plan::LinkKinds& links, const ToArm& to_arm,
                                  std::vector<std::string>& refused);

// Attaches a program to a raw tracepoint by the tracepoint's name.
Result<std::unique_ptr<Attachment>> attach_raw_tracepoint(int program_fd, const char* tracepoint);
// Attaches a program to `sys_enter` or `sys_exit`: to the raw tracepoint or to its perf event, depending on the type
// with which the program was loaded.
Result<std::unique_ptr<Attachment>> attach_syscalls(const KernelObject& kernel, const std::string& program,
                                                    const char* tracepoint);

// Fills the map of the programs and processes that process probes concern. The result keeps the programs' files open.
Result<Attachments> attach_subjects(const plan::Plan& plan, const KernelObject& kernel);
// Attaches the probes on processes, threads and system calls.
Result<Attachments> attach_task_events(const plan::Plan& plan, const KernelObject& kernel);
// Runs the handlers of process.begin and thread.begin for tasks that run already, except for the process `waiting`.
void begin_running_tasks(const plan::Plan& plan, const KernelObject& kernel, int64_t waiting);

// Opens a counter for these events in this process, and closes it. Returns errno, or 0 if the events can be counted.
int try_counter(const plan::PerfSpec& perf);

// Returns an error if the plan needs a kernel feature that the running kernel lacks. The error names the feature and
// the reason.
Result<void> check_probing(const plan::Plan& plan);

} // namespace sonde
