// Watches memory with the processor's debug registers; watchpoint.h explains the problem and the idea.
//
// Watchpoints are perf events of the type PERF_TYPE_BREAKPOINT (perf_event_open(2)). Most processors have four debug
// registers, so at most four different places can be watched in a thread at one time. The kernel refuses the fifth
// event with ENOSPC.
//
// The watched address is known only at run time. For a variable of a position-independent program, it is the linked
// address plus the load bias. For a process that just begins, the BPF program reports the address of the first
// instruction, and the bias is that address minus the linked entry point. For a process that runs already,
// /proc/PID/auxv has the address of the entry point (AT_ENTRY).
//
// A kernel variable has one address for all processes. It is watched on each processor instead of in each thread
// (attach_watchpoint()).
#include "runtime/attach/watchpoint.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/elf_file.h"
#include "base/kallsyms.h"
#include "base/processes.h"
#include "base/program_identity.h"
#include "base/quiet_thread.h"
#include "runtime/attach/own_places.h"
#include "runtime/attach/perf_links.h"
#include "runtime/plan/kinds.h"
#include "runtime/plan/object_names.h"
#include "runtime/plan/watched_programs.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

perf_event_attr attributes(const plan::WatchSpec& watch, uint64_t address) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_BREAKPOINT;
    attr.bp_type = watch.reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
    attr.bp_addr = address;
    attr.bp_len = watch.length;
    attr.sample_period = 1;
    return attr;
}

bool runs(int64_t process, const std::string& program) {
    std::error_code error;
    return std::filesystem::equivalent(fmt::format("/proc/{}/exe", process), program, error);
}

// Returns the difference between the run-time and linked addresses of a process' program. The kernel stores the
// run-time address of the entry point in the auxiliary vector (AT_ENTRY).
Result<uint64_t> load_bias(int64_t process, const std::string& program) {
    Result<ElfFile> file = ElfFile::open(program);
    if (!file)
        return std::move(file).error();
    Result<std::string> vector = read_file(fmt::format("/proc/{}/auxv", process));
    if (!vector)
        return std::move(vector).error();
    for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= vector->size(); at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;
        std::memcpy(&entry, vector->data() + at, sizeof entry);
        if (entry.a_type == AT_ENTRY)
            return entry.a_un.a_val - file->entry();
    }
    return Error(fmt::format("the load address of {1} in process {0} is not known", process, program));
}

// Returns the current address of a kernel symbol. The address in the plan may be old: a saved plan may run after a
// reboot.
uint64_t kernel_address(const plan::Point& point) {
    Result<std::string> list = point.watch.is_symbol ? read_kallsyms() : Error("");
    for (std::string_view rest = lines(list); auto symbol = next_symbol(rest);)
        if (symbol->name == point.symbol && symbol->module.empty() && symbol->address)
            return symbol->address;
    return point.watch.address;
}

// Returns whether a point concerns a process that runs `program`, or, if `program` is empty, the process with this
// number.
bool is_about(const plan::Probe& probe, const plan::Point& point, int64_t process, const std::string& program) {
    return program.empty() ? point.pid == process : watches_program(probe, point) && point.program == program;
}

} // namespace

std::string why_no_watchpoints() {
    // The test: watch a variable in this process, write to it, and read how many accesses were counted.
    alignas(8) volatile uint64_t watched = 0;
    plan::WatchSpec spec;
    spec.length = sizeof watched;
    perf_event_attr attr = attributes(spec, reinterpret_cast<uint64_t>(&watched));
    attr.exclude_kernel = 1;
    Fd event(static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event)
        return "";
    watched = 1;
    uint64_t count = 0;
    if (read(event.get(), &count, sizeof count) != sizeof count || count > 0)
        return "";
    return "the processor's debug registers do not report accesses to memory, as in a virtual machine without them";
}

Result<std::unique_ptr<Attachment>> attach_watchpoint(const PointToAttach& one) {
    auto out = std::make_unique<PerfLinks>(one.kernel.object(), one.program, one.point);
    perf_event_attr attr = attributes(one.point.watch, kernel_address(one.point));
    if (Result<void> added = out->add_processors(attr); !added)
        return std::move(added).error();
    return std::unique_ptr<Attachment>(std::move(out));
}

// Opens events in all threads that exist now. New threads inherit the events.
Result<Attachments> Watchpoints::watch(int64_t process, const std::string& program, uint64_t bias) {
    Attachments out;
    for (const plan::Probe& probe : plan_.probes)
        for (const plan::Point& point : probe.points) {
            if (probe.kind != plan::ProbeKind::Watch || point.watch.is_kernel ||
                !is_about(probe, point, process, program))
                continue;
            perf_event_attr attr = attributes(point.watch, point.watch.address + (point.watch.is_relative ? bias : 0));
            attr.inherit = 1;
            attr.remove_on_exec = 1; // 5.13, "perf: Add support for event removal on exec"
            auto links = std::make_unique<PerfLinks>(kernel_.object(), probe.symbol, point);
            for (int64_t thread : threads_of(process))
                if (Result<void> added = links->add_thread(attr, static_cast<pid_t>(thread)); !added)
                    return std::move(added).error();
            out.push_back(std::move(links));
        }
    return out;
}

// Holds the lock during the whole function, so that the thread cannot handle the same process at the same time.
Result<void> Watchpoints::watch_running(int64_t process, bool by_number) {
    std::string program;
    for (const Beginning& beginning : beginnings_)
        if (!by_number && runs(process, beginning.program))
            program = beginning.program;
    if (!by_number && program.empty())
        return {};
    const std::lock_guard hold(lock_);
    const auto family = static_cast<uint64_t>(process);
    if (watches_programs(plan_)) {
        Result<uint32_t> fresh = kernel_.run(plan::programs::watch_running,
                                             {static_cast<uint64_t>(kernel_.numbers().in_kernel(process)), family});
        if (!fresh)
            return std::move(fresh).error();
        if (!by_number && *fresh == 0)
            return {}; // it began just now, so the thread watches it
    }
    uint64_t bias = 0;
    for (const plan::Probe& probe : plan_.probes)
        for (const plan::Point& point : probe.points)
            if (probe.kind == plan::ProbeKind::Watch && point.watch.is_relative &&
                is_about(probe, point, process, program)) {
                Result<uint64_t> found = load_bias(process, point.path);
                if (!found)
                    return std::move(found).error().in(fmt::format("cannot attach to {}", point.pp));
                bias = *found;
            }
    Result<Attachments> some = watch(process, program, bias);
    if (!some)
        return std::move(some).error();
    std::move(some->begin(), some->end(), std::back_inserter(watched_[family]));
    return {};
}

// A file without an entry point, such as a library, cannot start by itself.
Result<void> Watchpoints::find_beginnings() {
    std::set<std::string> programs;
    for (const plan::Probe& probe : plan_.probes)
        for (const plan::Point& point : probe.points)
            if (probe.kind == plan::ProbeKind::Watch && watches_program(probe, point))
                programs.insert(point.program);
    for (const std::string& program : programs) {
        Result<ElfFile> file = ElfFile::open_any_width(program);
        if (!file)
            return std::move(file).error();
        std::optional<uint64_t> offset = file->file_offset(file->entry());
        if (file->entry() == 0 || !offset)
            return Error(
                fmt::format("the memory of {} cannot be watched: it is not a program with an entry point", program));
        // A later instruction will not do: the first one may access watched memory.
        constexpr size_t most_bytes = 16;
        const Result<std::string> code = read_at(file->fd(), *offset, most_bytes);
        if (!code)
            return std::move(code).error();
        if (!is_sound(*code))
            return Error(fmt::format("the memory of {} cannot be watched: this kernel cannot probe its first "
                                     "instruction, where a new process waits until it is watched",
                                     program));
        beginnings_.push_back({program, file->entry(), *offset});
    }
    return {};
}

Result<void> Watchpoints::attach_beginnings(bool multi) {
    const struct {
        const char *program, *tracepoint;
    } followed[] = {{plan::programs::watch_fork, "sched_process_fork"},
                    {plan::programs::watch_exec, "sched_process_exec"},
                    {plan::programs::watch_exit, "sched_process_exit"}};
    for (const auto& [program, tracepoint] : followed) {
        Result<std::unique_ptr<Attachment>> attached = attach_raw_tracepoint(kernel_.program_fd(program), tracepoint);
        if (!attached)
            return std::move(attached).error().in("cannot follow watched processes");
        attachments_.push_back(*std::move(attached));
    }
    for (size_t i = 0; i < beginnings_.size(); i++) {
        UprobeTargets target;
        target.program = plan::programs::watch_begin;
        target.path = target.attach_name = beginnings_[i].program;
        target.offsets = {beginnings_[i].offset};
        target.ref_ctr_offsets = {0};
        target.cookies = {i};
        target.names = {fmt::format("the first instruction of {}", target.path)};
        Result<std::unique_ptr<Attachment>> attached =
            multi ? attach_uprobe_multi(kernel_.program_fd(target.program), target)
                  : attach_perf_event(kernel_.object(), target);
        if (!attached)
            return std::move(attached).error().in("cannot watch the program's memory from its beginning");
        attachments_.push_back(*std::move(attached));
    }
    return {};
}

// The order matters: new processes are caught first, then running ones are watched. In the opposite order, a process
// that starts in between would be missed. A process that is found twice is recognized by `sonde_watched`.
Result<void> Watchpoints::begin(const std::vector<int64_t>& processes, bool multi) {
    if (watches_programs(plan_)) {
        if (Result<void> found = find_beginnings(); !found)
            return found;
        const uint64_t untold = SONDE_FAMILY_UNTOLD;
        const sonde_family none{};
        bpf_map_update_elem(kernel_.map_fd(plan::maps::families), &untold, &none, BPF_ANY);
        events_ = ring_buffer__new(kernel_.map_fd(plan::maps::watches), handle_record, this, nullptr);
        stop_ = Fd(eventfd(0, EFD_CLOEXEC));
        if (!events_ || !stop_)
            return errno_error("cannot follow watched processes", errno);
        Result<std::thread> thread = start_quiet_thread("follows watched processes", [this] { serve(); });
        if (!thread)
            return std::move(thread).error();
        thread_ = *std::move(thread);
        if (Result<void> attached = attach_beginnings(multi); !attached)
            return attached;
    }
    std::set<int64_t> named;
    for (const plan::Probe& probe : plan_.probes)
        for (const plan::Point& point : probe.points)
            if (probe.kind == plan::ProbeKind::Watch && point.pid && named.insert(point.pid).second)
                if (Result<void> kept = watch_running(point.pid, true); !kept)
                    return kept;
    for (int64_t process : processes)
        if (Result<void> kept = watch_running(process, false); !kept)
            return kept;
    return {};
}

void Watchpoints::process_began(const sonde_watch_event& event) {
    const Beginning& beginning = beginnings_[event.program];
    std::string not_watched;
    if (event.process == 0) {
        not_watched = "it is not in the session's PID namespace";
    } else if (!thread_.joinable()) {
        // The session is ending, so watching would be useless. Still report missed accesses below.
    } else if (Result<Attachments> some = watch(event.process, beginning.program, event.entry - beginning.address)) {
        watched_[event.family] = *std::move(some);
    } else {
        not_watched = some.error().message;
    }
    Result<uint32_t> waited = kernel_.run(plan::programs::watch_release, {event.family});
    if (!not_watched.empty())
        warn(fmt::format("process {} ({}) is not watched: {}", event.process, beginning.program, not_watched),
             Weight::Answer);
    else if (!waited || *waited == 0)
        warn(fmt::format("process {} ({}) is not watched from its beginning: the session did not answer within a "
                         "second, so the first accesses may be missing",
                         event.process, beginning.program),
             Weight::Answer);
}

void Watchpoints::handle(const sonde_watch_event& event) {
    const std::lock_guard hold(lock_);
    if (event.entry != 0) {
        process_began(event);
        return;
    }
    watched_.erase(event.family);
    bpf_map_delete_elem(kernel_.map_fd(plan::maps::families), &event.family);
}

int Watchpoints::handle_record(void* self, void* record, size_t size) {
    sonde_watch_event event;
    if (size >= sizeof event) {
        std::memcpy(&event, record, sizeof event);
        static_cast<Watchpoints*>(self)->handle(event);
    }
    return 0;
}

void Watchpoints::serve() {
    // A higher priority, because watched processes wait for this thread.
    constexpr int soon = -10;
    setpriority(PRIO_PROCESS, 0, soon); // this thread only; has no effect without root
    pollfd fds[] = {{stop_.get(), POLLIN, 0}, {ring_buffer__epoll_fd(events_), POLLIN, 0}};
    while (poll(fds, std::size(fds), -1) >= 0 || errno == EINTR) {
        if (fds[0].revents != 0)
            return;
        ring_buffer__consume(events_);
    }
}

// Stops the thread first. After that, records that are left in the ring buffer are handled here, for their warnings.
void Watchpoints::clear() {
    if (thread_.joinable()) {
        const uint64_t one = 1;
        if (write(stop_.get(), &one, sizeof one) == sizeof one)
            thread_.join();
    }
    attachments_.clear();
    if (events_) {
        ring_buffer__consume(events_);
        const uint64_t untold = SONDE_FAMILY_UNTOLD;
        sonde_family none{};
        if (bpf_map_lookup_elem(kernel_.map_fd(plan::maps::families), &untold, &none) == 0 && none.members > 0)
            warn(fmt::format("{} processes began or ended too fast for sonde to follow; some may not have been watched",
                             none.members),
                 Weight::Answer);
    }
    ring_buffer__free(std::exchange(events_, nullptr));
    watched_.clear();
}

} // namespace sonde
