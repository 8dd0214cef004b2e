// A session from beginning to end: one readable function, run_session(), and its steps.
#include "runtime/session.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>

#include "base/fd.h"
#include "runtime/attach/attach.h"
#include "runtime/attach/watchpoint.h"
#include "runtime/command.h"
#include "runtime/control_process.h"
#include "runtime/kernel_addresses.h"
#include "runtime/messages.h"
#include "runtime/overload.h"
#include "runtime/probed_files.h"
#include "runtime/session_state.h"
#include "runtime/target_check.h"
#include "runtime/unhit.h"
#include "runtime/wrap.h"

namespace sonde {
namespace {

constexpr int64_t files_looked_at_ns = 1000000000;
constexpr int poll_ms = 10; // events wait at most that long: handlers wake nobody for a few of them

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// Both rings. Control records are looked at first, so that a flood of prints cannot delay an exit(); nor does it delay
// what else the session does.
class Rings {
  public:
    Rings() = default;
    ~Rings() {
        ring_buffer__free(events_);
        ring_buffer__free(control_);
    }
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    Result<void> open(Session& session) {
        session_ = &session;
        events_ = ring_buffer__new(session.kernel->map_fd("sonde_events"), handle, this, nullptr);
        control_ = ring_buffer__new(session.kernel->map_fd("sonde_control"), handle, this, nullptr);
        if (!events_ || !control_)
            return errno_error("cannot map the ring buffers", errno);
        return {};
    }
    void drain() {
        if (!session_)
            return;
        session_->error_counted_in_kernel = true;
        const bool flows = __atomic_load_n(&session_->words->state, __ATOMIC_RELAXED) == plan::Running;
        stop_at_ = flows ? now_ns() + most_ns : INT64_MAX;
        ring_buffer__consume(events_);
        stop_at_ = INT64_MAX;
        ring_buffer__consume(control_);
        session_->error_counted_in_kernel = false;
    }
    int event_fd() const { return events_ ? ring_buffer__epoll_fd(events_) : -1; }
    int control_fd() const { return control_ ? ring_buffer__epoll_fd(control_) : -1; }

  private:
    static constexpr int64_t most_ns = 40'000'000; // what hits go on filling has no end
    static constexpr uint32_t clock_every = 64;    // records
    static int handle(void* opaque, void* record, size_t size) {
        auto& rings = *static_cast<Rings*>(opaque);
        rings.session_->handle_record(static_cast<const uint8_t*>(record), size);
        return ++rings.handled_ % clock_every == 0 && rings.stop_at_ != INT64_MAX && now_ns() > rings.stop_at_ ? -1 : 0;
    }
    int64_t stop_at_ = INT64_MAX;
    uint32_t handled_ = 0;
    Session* session_ = nullptr;
    ring_buffer* events_ = nullptr;
    ring_buffer* control_ = nullptr;
};

class Timers {
  public:
    explicit Timers(const plan::Plan& plan) {
        for (const plan::Probe& probe : plan.probes)
            if (plan::traits(probe.kind).cause == plan::Cause::Timer)
                timers_.push_back({&probe, 0});
    }
    void start() {
        for (Timer& timer : timers_)
            timer.next = now_ns() + interval(*timer.probe);
    }
    // Nanoseconds until the next one; `most` if there is none before.
    int64_t until_next(int64_t most) const {
        int64_t least = most, now = now_ns();
        for (const Timer& timer : timers_)
            least = std::min(least, std::max<int64_t>(0, timer.next - now));
        return least;
    }
    // The timers that were due at `now`, the latest first, each once: a handler that takes longer than its interval
    // leaves time for the rest of the session. They are set for their next time; missed times are not made up for.
    std::vector<const plan::Probe*> take_due() {
        int64_t now = now_ns();
        std::vector<std::pair<int64_t, const plan::Probe*>> due;
        for (Timer& timer : timers_) {
            if (timer.next > now)
                continue;
            due.emplace_back(timer.next, timer.probe);
            timer.next = std::max(timer.next + interval(*timer.probe), now);
        }
        std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<const plan::Probe*> out;
        for (const auto& [time, probe] : due)
            out.push_back(probe);
        return out;
    }

  private:
    struct Timer {
        const plan::Probe* probe;
        int64_t next;
    };
    int64_t interval(const plan::Probe& probe) {
        auto base = static_cast<int64_t>(probe.timer.interval_ns);
        if (probe.timer.random_ns) {
            auto spread = static_cast<int64_t>(probe.timer.random_ns);
            base += std::uniform_int_distribution<int64_t>(-spread, spread)(random_);
        }
        return std::max<int64_t>(base, 1000);
    }
    std::vector<Timer> timers_;
    std::mt19937_64 random_{std::random_device{}()};
};

Result<void> fill_data(Session& session) {
    const plan::Plan& plan = session.plan;
    timespec real{}, mono{};
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    session.words->realtime_offset_ns = (real.tv_sec - mono.tv_sec) * 1000000000ll + real.tv_nsec - mono.tv_nsec;
    timespec tick{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    session.words->hz = static_cast<uint64_t>(std::lround(1e9 / static_cast<double>(std::max(1l, tick.tv_nsec))));
    tm local{};
    localtime_r(&real.tv_sec, &local);
    session.words->seconds_west = -local.tm_gmtoff;
    std::snprintf(session.words->zone, sizeof session.words->zone, "%s", local.tm_zone);
    std::snprintf(session.words->module_size, sizeof session.words->module_size,
                  "kernel: %zu, session: %zu, data: %llu", plan.bpf_object.size(), plan.host_object.size(),
                  static_cast<unsigned long long>(plan.data_size));
    session.words->uid = getuid();
    session.words->pid = static_cast<uint64_t>(getpid());
    session.words->max_errors = plan.max_errors;
    session.words->max_action = plan.max_action;
    session.words->counters = plan.counters.size();
    Result<std::map<std::string, uint64_t>> addresses = find_addresses(plan);
    if (!addresses)
        return std::move(addresses).error();
    for (const plan::Global& global : plan.globals) {
        if (!global.keys.empty())
            continue;
        char* place = session.data + global.offset;
        if (!global.address_of.empty()) {
            std::memcpy(place, &addresses->at(global.address_of), 8);
        } else if (global.type == plan::Value::Long)
            std::memcpy(place, &global.initial_long, 8);
        else if (global.type == plan::Value::String)
            std::snprintf(place, plan.max_string, "%s", global.initial_string.c_str());
    }
    return {};
}

Result<void> prepare(Session& session, const plan::Ways& ways) {
    const plan::Plan& plan = session.plan;
    if (!plan.bpf_object.empty()) {
        if (Result<void> opened = session.numbers.open(session.kernel_memory); !opened)
            return opened;
        Result<std::unique_ptr<KernelObject>> kernel = KernelObject::load(plan, ways, session.numbers);
        if (!kernel)
            return std::move(kernel).error();
        session.kernel = *std::move(kernel);
        session.data = session.kernel->data();
    } else {
        // Slack behind the last string, as in the kernel's data area.
        session.own_data.resize((plan.data_size + 2ull * plan.max_string) / 8 + 1);
        session.data = reinterpret_cast<char*>(session.own_data.data());
    }
    session.words = reinterpret_cast<plan::SessionWords*>(session.data);
    if (Result<void> filled = fill_data(session); !filled)
        return filled;
    if (!plan.host_object.empty()) {
        Result<HostObject> object = HostObject::load(plan.host_object);
        if (!object)
            return std::move(object).error();
        session.host_object = *std::move(object);
    }
    for (const plan::Global& global : plan.globals) {
        if (global.keys.empty())
            session.arrays.push_back(nullptr);
        else if (global.in_kernel)
            session.arrays.push_back(make_kernel_array(global, session.kernel->map_fd(global.map), session.words,
                                                       session.kernel->map_fd(global.map + SONDE_WRAP_ORDER)));
        else
            session.arrays.push_back(make_host_array(global));
    }
    return {};
}

// A begin, end, error or timer handler, wherever it lives.
void run_handler(Session& session, Rings& rings, const plan::Probe& probe) {
    rings.drain();
    // A handler may run more statements here than in the kernel, where others wait for it.
    session.words->max_action = session.plan.max_action_interruptible;
    const int64_t began = now_ns();
    if (probe.in_kernel) {
        if (Result<uint32_t> run = session.kernel->run(probe.symbol, {}); !run) {
            say(fmt::format("ERROR: the handler at {} cannot run: {}", probe.place, run.error().message));
            session.failed = session.exiting = true;
        }
    } else {
        session.run_host_handler(probe);
    }
    session.hit_report.ran(probe, static_cast<uint64_t>(now_ns() - began));
    session.words->max_action = session.plan.max_action;
    rings.drain();
}

template <typename Wanted> std::vector<const plan::Probe*> in_order(const plan::Plan& plan, Wanted wanted) {
    std::vector<const plan::Probe*> probes;
    for (const plan::Probe& probe : plan.probes)
        // Each of a probe's points is a run of its own: `probe begin, begin`.
        for (size_t i = 0; wanted(probe.kind) && i < std::max<size_t>(1, probe.points.size()); i++)
            probes.push_back(&probe);
    std::stable_sort(probes.begin(), probes.end(),
                     [](const plan::Probe* a, const plan::Probe* b) { return a->order < b->order; });
    return probes;
}

// Handlers of one point, as far as nothing but the point decides whether they run, do not stop each other.
bool is_same_point(const plan::Probe& a, const plan::Probe& b) {
    const auto point = [](const plan::Probe& probe) { return probe.points.empty() ? "" : probe.points[0].pp; };
    return a.kind == b.kind && a.order == b.order && !a.has_condition && !b.has_condition && point(a) == point(b);
}

// The handlers of the next point from `at` on: one that fails ends the session after the last of them. Gives the place
// behind it.
size_t run_point(Session& session, Rings& rings, const std::vector<const plan::Probe*>& probes, size_t at) {
    const size_t first = at;
    session.hold_errors();
    do
        run_handler(session, rings, *probes[at++]);
    while (at < probes.size() && is_same_point(*probes[first], *probes[at]) && !session.aborted);
    session.release_error();
    return at;
}

// Until one calls exit() or fails.
void run_begin_probes(Session& session, Rings& rings) {
    const std::vector<const plan::Probe*> probes =
        in_order(session.plan, [](plan::ProbeKind kind) { return plan::traits(kind).cause == plan::Cause::Start; });
    for (size_t at = 0; at < probes.size() && !session.exiting;)
        at = run_point(session, rings, probes, at);
}

// End probes; beyond the error that is one too many, error probes instead.
void run_end_probes(Session& session, Rings& rings) {
    for (const plan::Probe* probe : in_order(session.plan, [](plan::ProbeKind kind) {
             plan::Cause cause = plan::traits(kind).cause;
             return cause == plan::Cause::End || cause == plan::Cause::Failure;
         })) {
        if (session.aborted)
            return;
        if ((plan::traits(probe->kind).cause == plan::Cause::Failure) == session.failed)
            run_handler(session, rings, *probe);
    }
}

class Signals {
  public:
    explicit Signals(Interrupter& interrupter) : interrupter_(interrupter) {
        sigemptyset(&mask_);
        for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR2})
            sigaddset(&mask_, signal);
        sigprocmask(SIG_BLOCK, &mask_, &old_);
        signal(SIGPIPE, SIG_IGN);
        fd_ = Fd(signalfd(-1, &mask_, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~Signals() { sigprocmask(SIG_SETMASK, &old_, nullptr); }
    // Whoever wants the session to end has what was wanted: the process ends, with the status of its session.
    void ignore_from_here() {
        for (int signal : {SIGINT, SIGTERM, SIGHUP})
            ::signal(signal, SIG_IGN);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;
    int fd() const { return fd_.get(); }
    // True if the session was asked to end.
    bool take_end() {
        read_pending();
        return asked_at_ != 0;
    }
    // True if the output is to go on in the next file, as programs that rotate logs ask for.
    bool take_switch() {
        read_pending();
        return std::exchange(switches_, false);
    }
    // True if it was asked again: nothing is waited for any more. timeout(1) and shells send one signal twice.
    bool take_hurry() {
        constexpr int64_t apart_ns = 300'000'000;
        const int64_t before = asked_at_;
        if (read_pending() && before && now_ns() - before > apart_ns)
            hurried_ = true;
        return hurried_;
    }

  private:
    bool read_pending() {
        signalfd_siginfo info{};
        bool end = false;
        while (read(fd_.get(), &info, sizeof info) == sizeof info)
            if (info.ssi_signo == SIGUSR2)
                switches_ = true;
            else
                end = end || info.ssi_signo != SIGCHLD;
        if (end && !asked_at_)
            asked_at_ = now_ns();
        if (end)
            interrupter_.note_signal();
        return end;
    }
    Interrupter& interrupter_;
    sigset_t mask_{}, old_{};
    Fd fd_;
    int64_t asked_at_ = 0; // 0: not yet
    bool hurried_ = false, switches_ = false;
};

// What waits for the reader of the output, and how long (docs/decisions/runtime.md).
constexpr int64_t turn_wait_ns = 20'000'000;        // while probes run: in a turn of the loop
constexpr double told_wait_s = 2, own_wait_s = 300; // at the end: told to end, or ended by itself

int64_t time_limit_ns(const Session& session) {
    return session.options.time_limit_s > 0 ? static_cast<int64_t>(session.options.time_limit_s * 1e9) : INT64_MAX;
}

int64_t end_after(int64_t begin_ns, int64_t limit_ns) {
    return limit_ns > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + limit_ns;
}

// begin probes may print more than there is room for.
void be_patient_in_begin(Session& session, Signals& signals) {
    session.output.set_patience({}, [&session, &signals, began = now_ns()] {
        session.held_back->release();
        if (signals.take_end() || now_ns() - began >= time_limit_ns(session))
            session.exiting = session.interrupted = true;
        return session.interrupted;
    });
}

Patience patience_at_end(const Session& session) {
    double seconds = session.options.output_wait_s.value_or(session.interrupted ? told_wait_s : own_wait_s);
    return {Patience::forever, static_cast<int64_t>(std::min(seconds, 1e9) * 1e9)};
}

// The last wait for the reader. Who waits for the session is told that it is the reader that takes its time.
void finish_output(Session& session, Signals& signals) {
    constexpr int64_t tell_after_ns = 2'000'000'000;
    session.output.flush();
    // After an end of the session's own, one signal is enough.
    const Writer::GiveUp hurry = [&] { return signals.take_hurry() || (!session.interrupted && signals.take_end()); };
    Writer& writer = session.output.writer();
    session.output.set_patience({}, hurry);
    if (!session.interrupted && !writer.wait_until_written({Patience::forever, tell_after_ns}, hurry) && !hurry() &&
        isatty(STDERR_FILENO) == 1)
        say(fmt::format("the session has ended, {} lines wait for the reader of the output: ^C drops them",
                        writer.queued_lines()));
    session.output.finish(patience_at_end(session));
    Writer::Loss lost = writer.lost(Writer::Printed);
    session.accounting.add(Loss::Unread, lost.bytes ? std::max<uint64_t>(1, lost.lines) : 0, "",
                           std::to_string(lost.bytes));
}

// Where texts come from and go to while the session runs.
struct Files {
    std::unique_ptr<ControlProcess> control; // null: none
    RunFileHandler run;
    StandardInput input;
};

void say_changes(ProbedFiles& probed) {
    for (const std::string& change : probed.notice_changes())
        warn(change, Weight::Answer);
}

// Takes off the probes that cost too much.
void guard(Session& session, OverloadGuard& overload, Attachments& attachments) {
    for (const auto& [probe, why] : overload.look(now_ns())) {
        for (const std::unique_ptr<Attachment>& attachment : attachments)
            if (attachment->probe == probe)
                session.missed[probe] += attachment->missed();
        std::erase_if(attachments, [&](const auto& attachment) { return attachment->probe == probe; });
        session.accounting.add(Loss::Disarmed, 1, session.plan.probes[probe].place, why);
        warn(fmt::format("the probe at {} is disarmed {}", session.plan.probes[probe].place, why), Weight::Answer);
    }
}

void pump(Session& session, Rings& rings, Timers& timers, Signals& signals, Command& command, Files& files,
          ProbedFiles& probed, Attachments& attachments) {
    std::optional<OverloadGuard> overload;
    if (const double limit = session.options.overload.value_or(default_overload_limit(session.plan));
        session.kernel && !(session.options.overload && std::isinf(limit)))
        overload.emplace(session.plan, *session.kernel, limit);
    int64_t started = now_ns(), looked = started;
    const int64_t limit = time_limit_ns(session);
    session.interrupter->set_deadline(end_after(started, limit));
    bool host_only = !session.kernel;
    timers.start();
    // What was asked between the control files' appearance and the answer that told of it has been read already.
    if (files.control)
        files.control->serve(files.run, [&] { return session.exiting; });
    while (!session.exiting) {
        int64_t wait = timers.until_next(host_only ? 1000000000ll : poll_ms * 1000000ll);
        wait = std::min(wait, std::max<int64_t>(0, limit - (now_ns() - started)));
        pollfd fds[] = {{signals.fd(), POLLIN, 0},     {rings.control_fd(), POLLIN, 0},
                        {rings.event_fd(), POLLIN, 0}, {files.control ? files.control->fd() : -1, POLLIN, 0},
                        {files.input.fd(), POLLIN, 0}, {session.output.writer().failure_fd(), POLLIN, 0}};
        timespec timeout{wait / 1000000000, wait % 1000000000};
        ppoll(fds, std::size(fds), &timeout, nullptr);
        session.output.set_patience({turn_wait_ns, Patience::forever}, [] { return false; });
        rings.drain();
        if (overload)
            guard(session, *overload, attachments);
        session.target_files.drain();
        if (fds[3].revents && !session.exiting)
            files.control->serve(files.run, [&] { return session.exiting; });
        if (fds[4].revents && !session.exiting)
            files.input.serve([&] { return session.exiting; });
        if (signals.take_switch())
            session.output.switch_file();
        if (signals.take_end())
            session.exiting = session.interrupted = true;
        if (command.pid() && command.poll()) {
            rings.drain();
            session.exiting = true;
        }
        if (!session.exiting)
            for (const plan::Probe* probe : timers.take_due()) {
                run_handler(session, rings, *probe);
                if (session.exiting)
                    break;
            }
        int64_t now = now_ns();
        if (now - started >= limit)
            session.exiting = session.interrupted = true;
        if (now - looked >= files_looked_at_ns) {
            looked = now;
            say_changes(probed);
        }
        session.output.flush();
        if (!session.output.failure().empty())
            session.exiting = true;
        if (__atomic_load_n(&session.words->skipped, __ATOMIC_RELAXED) > session.plan.max_skipped) {
            say("ERROR: Skipped too many probes, check MAXSKIPPED or try again with sonde -t for more details.");
            session.failed = session.exiting = true;
        }
    }
}

// How the command ended, when it ended by itself.
bool command_failed(Command& command, const std::string& text) {
    std::optional<int> status = command.poll();
    if (!status || *status == 0)
        return false;
    if (WIFSIGNALED(*status))
        warn(fmt::format("`{}` was ended by signal {} ({})", text, WTERMSIG(*status), strsignal(WTERMSIG(*status))),
             Weight::Answer);
    else
        warn(fmt::format("`{}` exited with status {}", text, WEXITSTATUS(*status)), Weight::Answer);
    return true;
}

// The process and those that it has started, as far as they are still its children's children.
void add_targets(const KernelObject& kernel, int64_t process) {
    int64_t number = kernel.numbers().in_kernel(process);
    if (number == 0 || !kernel.targets().add(number))
        return;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
        std::ifstream children(thread.path() / "children");
        for (int64_t child = 0; children >> child;)
            add_targets(kernel, child);
    }
}

// The threads of the target and of what it has started so far.
void add_threads(int64_t process, std::vector<int64_t>& threads) {
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
        threads.push_back(std::atoll(thread.path().filename().c_str()));
        std::ifstream children(thread.path() / "children");
        for (int64_t child = 0; children >> child;)
            add_threads(child, threads);
    }
}

// Attaches everything. The kernel runs what is at one tracepoint in the order of attaching: who joins the target does
// so before handlers look, and who leaves it leaves behind them.
Result<void> attach_all(Session& session, Attachments& attachments, ProbedFiles& files, const plan::Ways& ways) {
    const plan::Plan& plan = session.plan;
    const KernelObject& kernel = *session.kernel;
    auto keep = [&](Result<Attachments> some) -> Result<void> {
        if (!some)
            return std::move(some).error();
        std::move(some->begin(), some->end(), std::back_inserter(attachments));
        return {};
    };
    auto follow = [&](const char* program, const char* tracepoint) -> Result<void> {
        Result<std::unique_ptr<Attachment>> attached = attach_raw_tracepoint(kernel.program_fd(program), tracepoint);
        if (!attached)
            return std::move(attached).error().in("cannot follow the target's children");
        attachments.push_back(*std::move(attached));
        return {};
    };
    if (plan.filter_target)
        for (auto [program, tracepoint] :
             {std::pair("sonde_follow_fork", "sched_process_fork"), {"sonde_follow_exec", "sched_process_exec"}})
            if (Result<void> followed = follow(program, tracepoint); !followed)
                return followed;
    // A command joins when it begins. Children that a process starts from here on are seen.
    if (plan.filter_target && session.options.target_pid != 0)
        add_targets(kernel, static_cast<int64_t>(session.words->target));
    for (auto attach : {attach_subjects, attach_task_events})
        if (Result<void> kept = keep(attach(plan, kernel)); !kept)
            return kept;
    if (Result<void> kept = keep(open_counters(plan, kernel)); !kept)
        return kept;
    std::vector<std::string> refused;
    std::vector<int64_t> threads;
    if (plan.filter_target)
        add_threads(static_cast<int64_t>(session.words->target), threads);
    if (Result<void> kept = keep(attach_probes(plan, kernel, files, ways, threads, refused)); !kept)
        return kept;
    if (Result<void> same = files.compare_again(); !same)
        return same;
    if (!refused.empty())
        warn(fmt::format("the kernel cannot probe the instruction at {}{}", refused[0],
                         refused.size() == 1 ? "" : fmt::format(" and {} more places", refused.size() - 1)));
    if (plan.filter_target)
        return follow("sonde_follow_exit", "sched_process_exit");
    return {};
}

// Processes that run before the session begins; in a target's tree, if there is one.
std::vector<int64_t> running_processes(const Session& session, int64_t waiting) {
    std::vector<int64_t> out;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        int64_t process = std::atoll(entry.path().filename().c_str());
        if (process > 0 && process != waiting && session.kernel->targets().has(session.numbers.in_kernel(process)))
            out.push_back(process);
    }
    return out;
}

bool is_process(int64_t number) {
    return number > 0 && number <= INT32_MAX && (kill(static_cast<pid_t>(number), 0) == 0 || errno != ESRCH);
}

// Nothing is left to happen once the session has begun.
bool ends_by_itself(const plan::Plan& plan) {
    auto is_over = [](const plan::Probe& probe) {
        return plan::runs_alone(probe.kind) || plan::traits(probe.kind).once;
    };
    return plan.has([](plan::ProbeKind kind) { return plan::traits(kind).once; }) &&
           std::all_of(plan.probes.begin(), plan.probes.end(), is_over);
}

} // namespace

Result<int> run_session(const plan::Plan& plan, const SessionOptions& options) {
    if (!plan.writes.empty())
        if (std::string why = why_not_write(); !why.empty())
            return Error(
                fmt::format("the script changes the traced program's memory ({}), which this kernel does not allow: "
                            "{}; without the write the script can run",
                            plan.writes, why));
    if (std::string why = plan.bpf_object.empty() ? "" : why_no_own_proc(); !why.empty())
        return Error("sonde cannot tell which processes are meant: " + why);
    Session session(plan, options);
    Result<std::unique_ptr<ControlProcess>> control = ControlProcess::start(plan);
    if (!control)
        return std::move(control).error();
    if (Result<void> opened = session.output.open(options.output); !opened)
        return std::move(opened).error();
    Result<std::unique_ptr<Messages>> messages =
        Messages::start(session.output.writer(), session.output.is_same_file_as(STDERR_FILENO), options.raw);
    if (!messages)
        return std::move(messages).error();
    session.messages = *std::move(messages);
    if (options.target_pid && !is_process(options.target_pid))
        warn(fmt::format("-x {}: there is no such process{}", options.target_pid,
                         plan.filter_target ? ", so that no probe sees it" : ""));
    session.held_back = std::make_unique<HeldBack>(session.output, *session.messages);
    // It is known now that it can be written.
    if (!options.report.empty())
        if (Result<void> writable = write_file(options.report, ""); !writable)
            return std::move(writable).error();
    const uint64_t files_before = allow_many_files();
    // What cannot be attached is not loaded.
    if (Result<void> possible = check_probing(plan); !possible)
        return std::move(possible).error();
    Result<ProbedFiles> probed = ProbedFiles::open(plan, options.saved_as);
    if (!probed)
        return std::move(probed).error();
    Result<std::unique_ptr<Interrupter>> interrupter = Interrupter::start();
    if (!interrupter)
        return std::move(interrupter).error();
    session.interrupter = *std::move(interrupter);
    Signals signals(*session.interrupter);
    const plan::Ways ways = find_ways(plan, options.attach == "perf_event");
    if (Result<void> prepared = prepare(session, ways); !prepared)
        return std::move(prepared).error();
    Rings rings;
    if (session.kernel)
        if (Result<void> opened = rings.open(session); !opened)
            return std::move(opened).error();

    // The command exists, and waits.
    Command command;
    if (!options.command.empty()) {
        Result<Command> started = Command::start(options.command, files_before);
        if (!started)
            return std::move(started).error();
        command = *std::move(started);
    }
    struct Terminate {
        Command& command;
        ~Terminate() { command.terminate(); }
    } terminate{command};
    session.words->target = command.pid() ? command.pid() : options.target_pid;

    std::vector<std::string> programs = options.files;
    programs.push_back(command.program());
    if (session.kernel)
        session.symbols.begin(plan, *session.kernel, programs, options.target_pid);
    auto run_file_handler = [&](const plan::Probe& probe, const std::string& value, uint64_t limit) {
        session.file_value = value;
        session.file_limit = limit;
        if (!session.exiting)
            run_handler(session, rings, probe);
        return std::exchange(session.file_value, {});
    };
    Files files{*std::move(control), run_file_handler, StandardInput(plan, run_file_handler)};
    Attachments attachments;
    std::optional<Watchpoints> watchpoints;
    if (session.kernel) {
        if (Result<void> seen = check_target_filter(session); !seen)
            return std::move(seen).error();
        session.probed = probed_inodes(plan);
        if (plan.has(plan::is_uprobe) && command.pid())
            session.target_files.follow(command.pid());
        else if (plan.has(plan::is_uprobe) && options.target_pid)
            session.target_files.look_at(options.target_pid);
        if (Result<void> attached = attach_all(session, attachments, *probed, ways); !attached)
            return std::move(attached).error();
        if (plan.has(
                [](plan::ProbeKind kind) { return plan::traits(kind).mechanism == plan::Mechanism::Watchpoint; })) {
            watchpoints.emplace(plan, *session.kernel);
            if (Result<void> watched = watchpoints->begin(running_processes(session, command.pid()), ways.uprobe_multi);
                !watched)
                return std::move(watched).error();
        }
    }
    // Whoever sees them finds every probe armed.
    if (files.control)
        if (Result<void> mounted = files.control->mount(); !mounted)
            return std::move(mounted).error();
    // Beyond this point every probe is armed; their handlers run when begin's are done, and so does whatever these
    // cause.
    if (session.kernel)
        session.held_back->begin();
    be_patient_in_begin(session, signals);
    session.interrupter->set_deadline(end_after(now_ns(), time_limit_ns(session)));
    run_begin_probes(session, rings);
    bool command_bad = false;
    Result<void> joined;
    const bool ended_in_begin = session.exiting;
    if (session.exiting) {
        session.held_back->release();
    } else {
        __atomic_store_n(&session.words->state, plan::Running, __ATOMIC_SEQ_CST);
        if (session.kernel)
            begin_running_tasks(plan, *session.kernel, command.pid());
        for (const std::unique_ptr<Attachment>& attachment : attachments)
            if (Result<void> begun = attachment->begin(); !begun)
                return std::move(begun).error();
        session.exiting = session.exiting || (ends_by_itself(plan) && !command.pid());
        session.held_back->release();
        command.release();
        session.messages->settle([&] { return signals.take_hurry(); });
        options.armed();
        Timers timers(plan);
        pump(session, rings, timers, signals, command, files, *probed, attachments);
        say_changes(*probed);
        command_bad = command.pid() && command_failed(command, options.command);
        if (command.pid() && command.poll())
            joined = check_target_joined(session);
        session.target_files.drain();
        if (options.target_pid && plan.has(plan::is_uprobe))
            session.target_files.look_at(options.target_pid);
    }
    __atomic_store_n(&session.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
    for (const std::unique_ptr<Attachment>& attachment : attachments)
        session.missed[attachment->probe] += attachment->missed();
    attachments.clear();
    if (watchpoints)
        watchpoints->clear();
    files.control.reset();
    command.terminate();
    rings.drain();

    // Beyond this point no kernel handler runs any more.
    session.output.set_patience(patience_at_end(session), [&] { return signals.take_hurry(); });
    run_end_probes(session, rings);
    if (!session.aborted)
        session.print_globals();
    session.print_hits();
    finish_output(session, signals);
    session.count_losses();
    session.report();
    if (!ended_in_begin && joined)
        session.say_unhit();
    bool unwritten = !session.output.failure().empty();
    if (unwritten)
        say("ERROR: " + session.output.failure());
    if (session.failed)
        say("Pass 5: run failed.");
    if (!joined)
        say("ERROR: " + joined.error().message);
    session.messages->finish([&] { return signals.take_hurry(); });
    signals.ignore_from_here();
    int status = !joined || session.failed || unwritten || command_bad ? 1 : 0;
    if (status == 0 && session.accounting.lossy(options.tolerated))
        status = exit_lossy;
    if (!options.report.empty())
        if (Result<void> written = session.accounting.write(options.report, plan.script, status); !written)
            return std::move(written).error();
    return status;
}

} // namespace sonde
