// Probes on processes, threads and their system calls.
//
// The kernel runs these programs for all processes. A program looks up the map `sonde_subjects` and runs its handler
// only if the probe concerns the current process. The map's keys are numbers of processes, and for programs the
// addresses of their inodes in the kernel. Compared with a path, an inode also matches other names, mounts and devices
// of the same file. The kernel cannot reuse the address for another inode while sonde keeps the file open (OpenFile).
#include <bpf/bpf.h>
#include <fcntl.h>

#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "base/processes.h"
#include "runtime/attach/attach.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"

namespace sonde {
namespace {

using plan::ProbeKind;

// Keeps an inode alive, and so its address in the map valid.
class OpenFile final : public Attachment {
  public:
    explicit OpenFile(Fd fd) : fd_(std::move(fd)) {}
    int fd() const { return fd_.get(); }

  private:
    Fd fd_;
};

std::vector<const plan::Probe*> probes_of(const plan::Plan& plan, std::initializer_list<ProbeKind> kinds) {
    std::vector<const plan::Probe*> out;
    for (const plan::Probe& probe : plan.probes)
        for (ProbeKind kind : kinds)
            if (probe.kind == kind)
                out.push_back(&probe);
    return out;
}

} // namespace

Result<Attachments> attach_subjects(const plan::Plan& plan, const KernelObject& kernel) {
    Attachments out;
    for (size_t i = 0; i < plan.probes.size(); i++) {
        const plan::Probe& probe = plan.probes[i];
        for (const plan::Point& point : probe.points) {
            if (!probe.has_subjects())
                break;
            std::vector<uint64_t> groups = {
                plan::Probe::subject_group(probe.kind, static_cast<uint32_t>(i), point.row)};
            if (plan::follows_tasks(probe.kind))
                groups.push_back(plan::any_subject);
            std::unique_ptr<OpenFile> file;
            if (!point.program.empty()) {
                file = std::make_unique<OpenFile>(Fd(open(point.program.c_str(), O_PATH | O_CLOEXEC)));
                if (file->fd() < 0)
                    return errno_error(fmt::format("cannot open {} for {}", point.program, point.pp), errno);
            }
            for (uint64_t group : groups) {
                if (file) {
                    Result<uint32_t> added =
                        kernel.run(plan::programs::add_subject, {static_cast<uint64_t>(file->fd()), group, point.row});
                    if (!added || *added != 1)
                        return Error(fmt::format("cannot watch {} for {}", point.program, point.pp));
                    continue;
                }
                int64_t process = kernel.numbers().in_kernel(point.pid);
                if (process == 0 && point.pid != 0)
                    return Error(fmt::format("cannot watch for {}: process {} does not exist", point.pp, point.pid));
                uint64_t key[2] = {static_cast<uint64_t>(process), group};
                if (bpf_map_update_elem(kernel.map_fd(plan::maps::subjects), key, &point.row, BPF_ANY) != 0)
                    return errno_error(fmt::format("cannot watch for {}", point.pp), errno);
            }
            if (file)
                out.push_back(std::move(file));
        }
    }
    return out;
}

Result<Attachments> attach_task_events(const plan::Plan& plan, const KernelObject& kernel) {
    Attachments out;
    auto attach = [&](const std::string& program, const char* tracepoint) -> Result<void> {
        Result<std::unique_ptr<Attachment>> attached =
            std::string_view(tracepoint).starts_with("sys_")
                ? attach_syscalls(kernel, program, tracepoint)
                : attach_raw_tracepoint(kernel.program_fd(program), tracepoint);
        if (!attached)
            return std::move(attached).error();
        out.push_back(*std::move(attached));
        return {};
    };
    auto attach_kinds = [&](std::initializer_list<ProbeKind> kinds, const char* tracepoint) -> Result<void> {
        for (const plan::Probe* probe : probes_of(plan, kinds))
            if (Result<void> attached = attach(probe->symbol, tracepoint); !attached)
                return std::move(attached).error().in(fmt::format("cannot attach to {}", probe->points[0].pp));
        return {};
    };
    // The order matters: the kernel runs the programs at one tracepoint in the order in which they were attached. At an
    // exec, the old program must end before the new one begins. `sonde_seen_exec` and `sonde_seen_exit` delete data
    // that the handlers of ends still need, so they run after those handlers.
    struct Step {
        std::initializer_list<ProbeKind> kinds;
        const char* own; // one of sonde's own programs, instead of handlers
        const char* tracepoint;
    };
    const Step steps[] = {
        {{}, plan::programs::seen_fork, "sched_process_fork"},
        {{ProbeKind::ProcessEnd}, nullptr, "sched_process_exec"},
        {{}, plan::programs::seen_exec, "sched_process_exec"},
        {{ProbeKind::ProcessBegin}, nullptr, "sched_process_exec"},
        {{ProbeKind::ProcessBegin, ProbeKind::ThreadBegin}, nullptr, "sched_process_fork"},
        {{ProbeKind::ThreadEnd}, nullptr, "sched_process_exit"},
        {{ProbeKind::ProcessEnd}, nullptr, "sched_process_exit"},
        {{}, plan::programs::seen_exit, "sched_process_exit"},
        {{ProbeKind::Syscall}, nullptr, "sys_enter"},
        {{ProbeKind::SyscallReturn}, nullptr, "sys_exit"},
    };
    for (const Step& step : steps) {
        Result<void> done;
        if (!step.own)
            done = attach_kinds(step.kinds, step.tracepoint);
        else if (plan.follows_tasks())
            done = attach(step.own, step.tracepoint);
        if (!done)
            return std::move(done).error();
    }
    return out;
}

void begin_running_tasks(const plan::Plan& plan, const KernelObject& kernel, int64_t waiting) {
    if (!plan.follows_tasks())
        return;
    std::vector<const plan::Probe*> probes = probes_of(plan, {ProbeKind::ProcessBegin, ProbeKind::ThreadBegin});
    for (int64_t process : all_processes()) {
        if (process == waiting || !kernel.targets().has(kernel.numbers().in_kernel(process)))
            continue;
        for (int64_t thread : threads_of(process)) {
            Fd folder(open(fmt::format("/proc/{}/task/{}", process, thread).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
            auto fd = static_cast<uint64_t>(folder.get());
            // Returns 1 for a task that is still unknown. Tasks that began after the handlers were attached are known
            // already.
            Result<uint32_t> fresh = folder ? kernel.run(plan::programs::seen_task, {fd}) : 0;
            if (!fresh || *fresh != 1)
                continue;
            for (const plan::Probe* probe : probes)
                static_cast<void>(kernel.run(probe->symbol, {fd}));
        }
    }
}

} // namespace sonde
