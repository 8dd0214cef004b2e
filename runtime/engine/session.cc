// A session from beginning to end: Run, step by step, and what its steps do.
#include "runtime/engine/session.h"
#include "runtime/kernel/features.h"

#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/processes.h"
#include "runtime/attach/attach.h"
#include "runtime/attach/moved_text.h"
#include "runtime/attach/watchpoint.h"
#include "runtime/containers/groups.h"
#include "runtime/engine/control_process.h"
#include "runtime/engine/overload.h"
#include "runtime/engine/rings.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/signals.h"
#include "runtime/engine/target_check.h"
#include "runtime/engine/timers.h"
#include "runtime/engine/unhit.h"
#include "runtime/kernel/kernel_addresses.h"
#include "runtime/kernel/privileges.h"
#include "runtime/plan/saved_calls.h"
#include "runtime/plan/wrap.h"
#include "runtime/processes/command.h"
#include "runtime/processes/probed_files.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr int64_t looked_at_ns = 1000000000; // at files and processors
constexpr int poll_ms = 10;                  // events wait at most that long: handlers wake nobody for a few of them

Result<void> fill_data(Session& session) {
    const plan::Plan& plan = session.plan;
    session.data.words->realtime_offset_ns = real_time_ns() - kernel_now_ns();
    session.data.words->tai_offset_ns = tai_offset_ns();
    timespec tick{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    session.data.words->hz = static_cast<uint64_t>(std::lround(1e9 / static_cast<double>(std::max(1l, tick.tv_nsec))));
    tm local{};
    const std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &local);
    session.data.words->seconds_west = -local.tm_gmtoff;
    std::snprintf(session.data.words->zone, sizeof session.data.words->zone, "%s", local.tm_zone);
    std::snprintf(session.data.words->module_size, sizeof session.data.words->module_size,
                  "kernel: %zu, session: %zu, data: %llu", plan.bpf_object.size(), plan.host_object.size(),
                  static_cast<unsigned long long>(plan.data_size));
    session.data.words->uid = getuid();
    session.data.words->pid = static_cast<uint64_t>(getpid());
    session.data.words->max_errors = plan.max_errors;
    session.data.words->max_action = plan.max_action;
    session.data.words->counters = plan.counters.size();
    Result<std::map<std::string, uint64_t>> addresses = find_addresses(plan);
    if (!addresses)
        return std::move(addresses).error();
    for (const plan::Global& global : plan.globals) {
        if (!global.keys.empty())
            continue;
        char* place = session.data.memory + global.offset;
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
        if (Result<void> opened = session.data.numbers.open(session.kernel_memory); !opened)
            return opened;
        Result<std::unique_ptr<KernelObject>> kernel = KernelObject::load(plan, ways, session.data.numbers);
        if (!kernel)
            return std::move(kernel).error();
        session.data.kernel = *std::move(kernel);
        session.data.memory = session.data.kernel->data();
    } else {
        // Slack after the last string, as in the kernel's data area.
        session.data.own_memory.resize((plan.data_size + 2ull * plan.max_string) / 8 + 1);
        session.data.memory = reinterpret_cast<char*>(session.data.own_memory.data());
    }
    session.data.words = reinterpret_cast<plan::SessionWords*>(session.data.memory);
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
            session.data.arrays.push_back(nullptr);
        else if (global.in_kernel)
            session.data.arrays.push_back(
                make_kernel_array(global, session.data.kernel->map_fd(global.map), session.data.words,
                                  session.data.kernel->map_fd(global.map + SONDE_WRAP_ORDER)));
        else
            session.data.arrays.push_back(make_host_array(global));
    }
    return {};
}

// A begin, end, error or timer handler, wherever it lives.
void run_handler(Session& session, Rings& rings, const plan::Probe& probe) {
    rings.drain();
    // A handler may run more statements here than in the kernel, where others wait for it.
    session.data.words->max_action = session.plan.max_action_interruptible;
    const int64_t began = now_ns();
    if (probe.in_kernel) {
        if (Result<uint32_t> run = session.data.kernel->run(probe.symbol, {}); !run) {
            say(fmt::format("ERROR: the handler at {} cannot run: {}", probe.place, run.error().message));
            session.failed = session.exiting = true;
        }
    } else {
        session.run_host_handler(probe);
    }
    session.data.hit_report.ran(probe, static_cast<uint64_t>(now_ns() - began));
    session.data.words->max_action = session.plan.max_action;
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
// after it.
size_t run_point(Session& session, Rings& rings, const std::vector<const plan::Probe*>& probes, size_t at) {
    const size_t first = at;
    session.hold_errors();
    do
        run_handler(session, rings, *probes[at++]);
    while (at < probes.size() && !session.options.one_by_one && is_same_point(*probes[first], *probes[at]) &&
           !session.data.aborted);
    session.release_error();
    return at;
}

// Until one calls exit() or fails.
void run_points(Session& session, Rings& rings, const std::vector<const plan::Probe*>& probes) {
    for (size_t at = 0; at < probes.size() && !session.exiting;) {
        session.turn_sinks(now_ns(), true);
        at = run_point(session, rings, probes, at);
    }
}

void run_begin_probes(Session& session, Rings& rings) {
    run_points(session, rings, in_order(session.plan, [](plan::ProbeKind kind) {
                   return plan::traits(kind).cause == plan::Cause::Start;
               }));
}

// End probes; beyond the error that is one too many, error probes instead.
void run_end_probes(Session& session, Rings& rings) {
    const std::vector<const plan::Probe*> probes = in_order(session.plan, [](plan::ProbeKind kind) {
        plan::Cause cause = plan::traits(kind).cause;
        return cause == plan::Cause::End || cause == plan::Cause::Failure;
    });
    for (size_t at = 0; at < probes.size() && !session.data.aborted;) {
        if ((plan::traits(probes[at]->kind).cause == plan::Cause::Failure) == session.failed)
            at = run_point(session, rings, probes, at);
        else
            at++;
    }
}

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
    Files(std::unique_ptr<ControlProcess> files, const RunFileHandler& handler, const plan::Plan& plan)
        : control(std::move(files)), run(handler), input(plan, handler) {}
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
                session.data.missed[probe] += attachment->missed();
        std::erase_if(attachments, [&](const auto& attachment) { return attachment->probe == probe; });
        session.accounting.add(Loss::Disarmed, 1, session.plan.probes[probe].place, why);
        warn(fmt::format("the probe at {} is disarmed {}", session.plan.probes[probe].place, why), Weight::Answer);
    }
}

// Runs the timers that were due until `end`, the end of -T, for a limited time. Slow timers miss few runs, which have
// more time: a busy machine may need it.
void make_up(Session& session, Rings& rings, Timers& timers, int64_t end) {
    constexpr int64_t most_ns = 200'000'000, most_of_few_ns = 1'000'000'000;
    const int64_t began = now_ns();
    session.interrupter->set_deadline(began + most_of_few_ns);
    for (int round = 0; !session.exiting; round++) {
        const int64_t took = now_ns() - began;
        if (took >= most_of_few_ns || (took >= most_ns && round >= Timers::few_runs))
            return;
        const std::vector<const plan::Probe*> due = timers.take_due(end);
        if (due.empty())
            return;
        run_points(session, rings, due);
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
    for (int64_t child : children_of(process))
        add_targets(kernel, child);
}

// The threads of the target and of what it has started so far.
void add_threads(int64_t process, std::vector<int64_t>& threads) {
    for (int64_t thread : threads_of(process))
        threads.push_back(thread);
    for (int64_t child : children_of(process))
        add_threads(child, threads);
}

// Leaves out the places where a process has other code than the file. What cannot be probed at all is an error.
Result<void> compare_memory(Session& session, const ProbedFiles& files, ToArm& to_arm) {
    const plan::Plan& plan = session.plan;
    MemoryCheck check = check_memory_of_processes(plan, files, to_arm.stop);
    const KernelObject& kernel = *session.data.kernel;
    for (const auto& [process, path] : check.moved) {
        const std::string what = fmt::format("process {} runs a copy of the code of `{}` that it has made in memory of "
                                             "its own (large pages): breakpoints "
                                             "do not get there, and its hits are not seen",
                                             process, path);
        if (plan.filter_target && kernel.targets().has(session.data.numbers.in_kernel(process)))
            return Error(what + "; start it without that, as with `node --use-largepages=off`");
        warn(what, Weight::Answer);
    }
    if (check.hidden > 0 && !plan.filter_target && !has_capability(CAP_SYS_PTRACE))
        warn(fmt::format("the code of {} processes of others could not be compared with the files, which needs "
                         "CAP_SYS_PTRACE: a debugger's breakpoint there, or a patch, would be overwritten",
                         check.hidden));
    const size_t changes = check.changes();
    if (changes == 0)
        return {};
    to_arm.left_out = std::move(check.changed);
    const auto is_armed = [&](const plan::Point& point) {
        const auto file = to_arm.left_out.find(point.path);
        return file == to_arm.left_out.end() || !file->second.contains(point.offset);
    };
    const std::string what =
        fmt::format("{}{}", check.first_change,
                    changes == 1 ? "" : fmt::format("; {} more places are changed in memory", changes - 1));
    for (const plan::Probe& probe : plan.probes)
        if (plan::is_uprobe(probe.kind) && std::ranges::none_of(probe.points, is_armed))
            return Error("cannot probe " + what);
    warn("left out: " + what, Weight::Answer);
    return {};
}

// Attaches everything. The kernel runs what is at one tracepoint in the order of attaching: tracking of new processes
// attaches first and that of exits last, so that handlers see a task as a part of the target for all of its life.
Result<void> attach_all(Session& session, Attachments& attachments, ProbedFiles& files, const SoundPlaces& places,
                        const plan::Ways& ways, std::function<bool()> stop) {
    const plan::Plan& plan = session.plan;
    const KernelObject& kernel = *session.data.kernel;
    auto keep = [&](Result<Attachments> some) -> Result<void> {
        if (!some)
            return std::move(some).error();
        std::move(some->begin(), some->end(), std::back_inserter(attachments));
        return {};
    };
    auto follow = [&](const char* program, const char* tracepoint,
                      const char* what = "the target's children") -> Result<void> {
        Result<std::unique_ptr<Attachment>> attached = attach_raw_tracepoint(kernel.program_fd(program), tracepoint);
        if (!attached)
            return std::move(attached).error().in(fmt::format("cannot follow {}", what));
        attachments.push_back(*std::move(attached));
        return {};
    };
    // Groups that are made from here on are seen, those that are there are put in after.
    if (plan.follows_groups()) {
        for (auto [program, tracepoint] :
             {std::pair("sonde_group_born", "cgroup_mkdir"), {"sonde_group_gone", "cgroup_release"}})
            if (Result<void> followed = follow(program, tracepoint, "control groups"); !followed)
                return followed;
        if (Result<void> filled = session.groups.fill(kernel); !filled)
            return filled;
    }
    if (plan.filter_target)
        for (auto [program, tracepoint] :
             {std::pair("sonde_follow_fork", "sched_process_fork"), {"sonde_follow_exec", "sched_process_exec"}})
            if (Result<void> followed = follow(program, tracepoint); !followed)
                return followed;
    if (plan::saves_calls(plan) && kernel.program_fd(plan::saved_calls_fork) >= 0)
        if (Result<void> followed = follow(plan::saved_calls_fork, "sched_process_fork", "forks"); !followed)
            return followed;
    // A command joins when it begins. Children that a process starts from here on are seen.
    if (plan.filter_target && session.options.target_pid != 0)
        add_targets(kernel, static_cast<int64_t>(session.data.words->target));
    for (auto attach : {attach_subjects, attach_task_events})
        if (Result<void> kept = keep(attach(plan, kernel)); !kept)
            return kept;
    if (Result<void> kept = keep(open_counters(plan, kernel)); !kept)
        return kept;
    std::vector<std::string> refused;
    ToArm to_arm;
    to_arm.stop = std::move(stop);
    if (plan.filter_target)
        add_threads(static_cast<int64_t>(session.data.words->target), to_arm.threads);
    if (Result<void> compared = compare_memory(session, files, to_arm); !compared)
        return compared;
    if (Result<void> kept = keep(attach_probes(plan, kernel, files, places, ways, to_arm, refused)); !kept)
        return kept;
    if (Result<void> same = files.compare_again(); !same)
        return same;
    if (!refused.empty())
        warn(fmt::format("the kernel cannot probe the instruction at {}{}", refused[0],
                         refused.size() == 1   ? ""
                         : refused.size() == 2 ? " and 1 more place"
                                               : fmt::format(" and {} more places", refused.size() - 1)));
    if (plan.filter_target)
        return follow("sonde_follow_exit", "sched_process_free");
    return {};
}

// Processes that run before the session begins; in a target's tree, if there is one.
std::vector<int64_t> running_processes(const Session& session, int64_t waiting) {
    std::vector<int64_t> out;
    for (int64_t process : all_processes())
        if (process != waiting && session.data.kernel->targets().has(session.data.numbers.in_kernel(process)))
            out.push_back(process);
    return out;
}

// The process that a task belongs to, which is itself unless it is one of several threads; itself, too, if that is not
// known.
int64_t process_of_thread(int64_t number) {
    std::ifstream status(fmt::format("/proc/{}/status", number));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Tgid:"))
            return std::atoll(line.c_str() + 5);
    return number;
}

// Nothing is left to happen once the session has begun.
bool ends_by_itself(const plan::Plan& plan) {
    auto is_over = [](const plan::Probe& probe) {
        return plan::runs_alone(probe.kind) || plan::traits(probe.kind).once;
    };
    return plan.has([](plan::ProbeKind kind) { return plan::traits(kind).once; }) &&
           std::all_of(plan.probes.begin(), plan.probes.end(), is_over);
}

// One run of a plan. The members stand in the order in which they come to be; what was attached goes first.
class Run {
  public:
    Run(const plan::Plan& plan, const SessionOptions& options)
        : plan_(plan), options_(options), session_(plan, options) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    Result<int> run() {
        for (auto step : {&Run::begin_output, &Run::load, &Run::start_command, &Run::arm, &Run::trace})
            if (Result<void> done = (this->*step)(); !done)
                return std::move(done).error();
        stop();
        return end();
    }

  private:
    Result<void> begin_output();
    Result<void> load();
    Result<void> start_command();
    Result<void> arm();
    Result<void> begin_watching();
    Result<void> trace();
    Result<void> trace_events();
    void pump();
    void wait_for_events(int64_t most_ns);
    void wait_for_hit() const;
    void stop();
    int status() const;
    Result<int> end();

    std::string run_file_handler(const plan::Probe& probe, const std::string& value, uint64_t limit) {
        session_.file_value = value;
        session_.file_limit = limit;
        if (!session_.exiting)
            run_handler(session_, rings_, probe);
        return std::exchange(session_.file_value, {});
    }
    Writer::GiveUp hurry() {
        return [this] { return signals_->take_hurry(); };
    }

    const plan::Plan& plan_;
    const SessionOptions& options_;
    rlimit files_before_{}; // how many files a command may open
    Session session_;
    std::optional<ProbedFiles> probed_;
    SoundPlaces places_;
    std::optional<Signals> signals_;
    plan::Ways ways_;
    Rings rings_;
    Command command_;
    struct AtEnd {
        Command& command;
        ~AtEnd() { command.terminate(); }
    } at_end_{command_};
    std::unique_ptr<ControlProcess> control_; // until it belongs to the files
    std::optional<Files> files_;
    Attachments attachments_;
    std::optional<Watchpoints> watchpoints_;
    std::unique_ptr<MovedText> moved_text_; // null: there is no target whose code is probed
    bool ended_in_begin_ = false;
    bool command_failed_ = false;
    Result<void> joined_; // whether the command was seen as the target
};

// The process of the control files is the first, so that it holds nothing of the session.
Result<void> Run::begin_output() {
    Result<std::unique_ptr<ControlProcess>> control = ControlProcess::start(plan_);
    if (!control)
        return std::move(control).error();
    control_ = *std::move(control);
    Result<Sinks> sinks = options_.make_sinks(session_.data, session_.output);
    if (!sinks)
        return std::move(sinks).error();
    session_.sinks = *std::move(sinks);
    if (Result<void> opened = session_.output.open(options_.output); !opened)
        return opened;
    Result<std::unique_ptr<Messages>> messages =
        Messages::start(session_.output.writer(), session_.output.is_same_file_as(STDERR_FILENO), options_.raw);
    if (!messages)
        return std::move(messages).error();
    session_.messages = *std::move(messages);
    if (options_.target_pid && !is_process(options_.target_pid))
        return Error(fmt::format("-x {}: there is no such process", options_.target_pid));
    if (const int64_t process = options_.target_pid ? process_of_thread(options_.target_pid) : 0;
        process != options_.target_pid)
        warn(fmt::format("-x {}: that is a thread of process {}, and no process; -x {} traces it", options_.target_pid,
                         process, process),
             plan_.filter_target ? Weight::Answer : Weight::Advice);
    if (Result<void> there = session_.groups.check(); !there)
        return there;
    if (options_.target_pid && plan_.filter_groups && is_process(options_.target_pid) &&
        !session_.groups.has(options_.target_pid))
        warn(fmt::format("-x {}: that process is not in {}, and probes see only what is in both", options_.target_pid,
                         describe_groups(plan_.groups)));
    session_.held_back = std::make_unique<HeldBack>(session_.output, *session_.messages);
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        if (Result<void> opened = sink->open(); !opened)
            return opened;
    return {};
}

Result<void> Run::load() {
    files_before_ = allow_many_files();
    // What cannot be attached is not loaded.
    if (Result<void> possible = check_probing(plan_); !possible)
        return possible;
    Result<ProbedFiles> probed = ProbedFiles::open(plan_, options_.saved_as);
    if (!probed)
        return std::move(probed).error();
    probed_ = *std::move(probed);
    Result<SoundPlaces> places = SoundPlaces::find(plan_);
    if (!places)
        return std::move(places).error();
    places_ = *std::move(places);
    Result<std::unique_ptr<Interrupter>> interrupter = Interrupter::start();
    if (!interrupter)
        return std::move(interrupter).error();
    session_.interrupter = *std::move(interrupter);
    ways_ = find_ways(plan_, options_.attach == "perf_event");
    if (Result<void> prepared = prepare(session_, ways_); !prepared)
        return prepared;
    return session_.data.kernel ? rings_.open(session_) : Result<void>();
}

// It exists then, and waits.
Result<void> Run::start_command() {
    if (!options_.command.empty()) {
        Result<Command> started = Command::start(options_.command, files_before_);
        if (!started)
            return std::move(started).error();
        command_ = *std::move(started);
    }
    session_.data.words->target = command_.pid() ? command_.pid() : options_.target_pid;
    std::vector<std::string> programs = options_.files;
    programs.push_back(command_.program());
    session_.target_program = command_.pid() ? command_.program() : process_program(options_.target_pid);
    if (session_.data.kernel)
        session_.data.symbols.begin(plan_, *session_.data.kernel, programs, options_.target_pid);
    return {};
}

// Every probe; and whoever sees the control files finds all of them armed.
Result<void> Run::arm() {
    // Until here nothing is attached, and a signal ends the process: the kernel may check handlers for long, and large
    // programs' tables take a while to read.
    signals_.emplace(*session_.interrupter);
    RunFileHandler run = [this](const plan::Probe& probe, const std::string& value, uint64_t limit) {
        return run_file_handler(probe, value, limit);
    };
    files_.emplace(std::move(control_), run, plan_);
    if (session_.data.kernel) {
        if (Result<void> seen = check_target_filter(session_); !seen)
            return seen;
        session_.probed = probed_inodes(plan_);
        if (plan_.has(plan::is_uprobe) && command_.pid())
            session_.target_files.follow(command_.pid());
        else if (plan_.has(plan::is_uprobe) && options_.target_pid)
            session_.target_files.look_at(options_.target_pid);
        if (Result<void> attached =
                attach_all(session_, attachments_, *probed_, places_, ways_, [this] { return signals_->take_end(); });
            !attached)
            return attached;
        if (Result<void> watched = begin_watching(); !watched)
            return watched;
        if (plan_.follows_moved_text()) {
            Result<std::unique_ptr<MovedText>> moved =
                MovedText::start(plan_, *session_.data.kernel, *probed_, session_.target_program,
                                 static_cast<int64_t>(session_.data.words->target), ways_.uprobe_multi);
            if (!moved)
                return std::move(moved).error();
            moved_text_ = *std::move(moved);
        }
    }
    return files_->control ? files_->control->mount() : Result<void>();
}

Result<void> Run::begin_watching() {
    if (!plan_.has([](plan::ProbeKind kind) { return plan::traits(kind).mechanism == plan::Mechanism::Watchpoint; }))
        return {};
    watchpoints_.emplace(plan_, *session_.data.kernel);
    return watchpoints_->begin(running_processes(session_, command_.pid()), ways_.uprobe_multi);
}

// Every probe is armed; their handlers run when begin's are done, and so does whatever these cause.
Result<void> Run::trace() {
    if (session_.data.kernel)
        session_.held_back->begin();
    be_patient_in_begin(session_, *signals_);
    session_.interrupter->set_deadline(end_after(now_ns(), time_limit_ns(session_)));
    run_begin_probes(session_, rings_);
    ended_in_begin_ = session_.exiting;
    if (!ended_in_begin_)
        return trace_events();
    session_.held_back->release();
    return {};
}

Result<void> Run::trace_events() {
    __atomic_store_n(&session_.data.words->state, plan::Running, __ATOMIC_SEQ_CST);
    if (session_.data.kernel)
        begin_running_tasks(plan_, *session_.data.kernel, command_.pid());
    for (const std::unique_ptr<Attachment>& attachment : attachments_)
        if (Result<void> begun = attachment->begin(); !begun)
            return begun;
    session_.exiting = session_.exiting || (ends_by_itself(plan_) && !command_.pid());
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        sink->start(); // before anything is printed: a live view takes the screen
    session_.held_back->release();
    session_.turn_sinks(now_ns(), true);
    command_.release();
    session_.messages->settle(hurry());
    options_.armed();
    pump();
    say_changes(*probed_);
    command_failed_ = command_.pid() && command_failed(command_, options_.command);
    if (command_.pid() && command_.poll())
        joined_ = check_target_joined(session_);
    session_.target_files.drain();
    if (options_.target_pid && plan_.has(plan::is_uprobe))
        session_.target_files.look_at(options_.target_pid);
    return {};
}

// What happens until the end: records of handlers, timers, control files, signals, the command's end.
void Run::pump() {
    std::optional<OverloadGuard> overload;
    if (const double limit = options_.overload.value_or(default_overload_limit(plan_));
        session_.data.kernel && !(options_.overload && std::isinf(limit)))
        overload.emplace(plan_, *session_.data.kernel, limit);
    Timers timers(plan_);
    const int64_t started = now_ns(), limit = time_limit_ns(session_);
    int64_t looked = started;
    session_.interrupter->set_deadline(end_after(started, limit));
    timers.start();
    const auto is_ending = [this] { return session_.exiting; };
    // What was asked between the control files' appearance and the answer that told of it has been read already.
    if (files_->control)
        files_->control->serve(files_->run, is_ending);
    while (!session_.exiting) {
        const int64_t wait = session_.until_sinks(
            now_ns(), timers.until_next(session_.data.kernel ? poll_ms * 1000000ll : 1000000000ll));
        wait_for_events(std::min(wait, std::max<int64_t>(0, limit - (now_ns() - started))));
        if (overload)
            guard(session_, *overload, attachments_);
        if (session_.data.kernel)
            session_.groups.refresh(*session_.data.kernel);
        session_.target_files.drain();
        __atomic_store_n(&session_.data.words->tai_offset_ns, tai_offset_ns(), __ATOMIC_RELAXED);
        if (moved_text_)
            moved_text_->look();
        session_.turn_sinks(now_ns());
        if (signals_->take_switch())
            session_.output.switch_file();
        if (signals_->take_end()) {
            session_.exiting = session_.interrupted = true;
            if (signals_->was_hung_up())
                options_.hung_up();
        }
        options_.turned();
        if (command_.pid() && command_.poll()) {
            rings_.drain();
            session_.exiting = true;
        }
        if (!session_.exiting)
            run_points(session_, rings_, timers.take_due(now_ns()));
        const int64_t now = now_ns();
        if (!session_.exiting && now - started >= limit) {
            make_up(session_, rings_, timers, started + limit);
            session_.exiting = session_.interrupted = true;
        }
        if (now - looked >= looked_at_ns) {
            looked = now;
            say_changes(*probed_);
            for (const std::unique_ptr<Attachment>& attachment : attachments_)
                attachment->look_after();
        }
        session_.output.flush();
        if (!session_.output.failure().empty())
            session_.exiting = true;
        if (__atomic_load_n(&session_.data.words->skipped, __ATOMIC_RELAXED) > plan_.max_skipped) {
            say("ERROR: Skipped too many probes, check MAXSKIPPED or try again with sonde -t for more details.");
            session_.failed = session_.exiting = true;
        }
    }
    if (!session_.exited && now_ns() - started >= limit)
        timers.end(started + limit);
    for (const auto& [probe, runs] : timers.dropped())
        session_.accounting.add(Loss::TimerRuns, runs, probe->place, probe->points.empty() ? "" : probe->points[0].pp);
}

// Waits, then takes what has come through descriptors.
void Run::wait_for_events(int64_t most_ns) {
    std::vector<pollfd> fds = {{signals_->fd(), POLLIN, 0},
                               {rings_.control_fd(), POLLIN, 0},
                               {rings_.event_fd(), POLLIN, 0},
                               {session_.output.writer().failure_fd(), POLLIN, 0},
                               {files_->control ? files_->control->fd() : -1, POLLIN, 0},
                               {files_->input.fd(), POLLIN, 0}};
    const size_t first_sink = fds.size();
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        fds.push_back({sink->fd(), POLLIN, 0});
    const timespec timeout{most_ns / 1000000000, most_ns % 1000000000};
    ppoll(fds.data(), fds.size(), &timeout, nullptr);
    session_.output.set_patience({turn_wait_ns, Patience::forever}, [] { return false; });
    rings_.drain();
    const auto is_ending = [this] { return session_.exiting; };
    if (fds[4].revents && !session_.exiting)
        files_->control->serve(files_->run, is_ending);
    if (fds[5].revents && !session_.exiting)
        files_->input.serve(is_ending);
    for (size_t i = 0; i < session_.sinks.size(); i++)
        if (fds[first_sink + i].revents)
            session_.sinks[i]->serve();
}

// The hit that ended the session has led to all of its place's handlers then (codegen/bpf/one_hit.h). One that never
// comes (the kernel missed it, the thread is not given a processor) is not waited for.
void Run::wait_for_hit() const {
    constexpr int64_t most_ns = 500'000'000, turn_ns = 200'000;
    const int64_t began = now_ns();
    const timespec turn{0, turn_ns};
    while (__atomic_load_n(&session_.data.words->ending_task, __ATOMIC_SEQ_CST) && now_ns() - began < most_ns)
        nanosleep(&turn, nullptr);
}

// No kernel handler runs any more when it returns.
void Run::stop() {
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        sink->stop();
    __atomic_store_n(&session_.data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
    wait_for_hit();
    for (const std::unique_ptr<Attachment>& attachment : attachments_)
        session_.data.missed[attachment->probe] += attachment->missed();
    // The last first: it is what the kernel runs first at a place, and taking it off waits for a hit that is under way,
    // which has led to all of the place's handlers then.
    while (!attachments_.empty())
        attachments_.pop_back();
    if (watchpoints_)
        watchpoints_->clear();
    if (moved_text_)
        moved_text_->look(); // whoever waits goes on
    moved_text_.reset();
    files_->control.reset();
    command_.terminate();
    rings_.drain();
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        sink->detached();
    session_.turn_sinks(now_ns(), true);
}

int Run::status() const {
    if (!joined_ || session_.failed || !session_.output.failure().empty() || command_failed_)
        return 1;
    return session_.accounting.lossy(options_.tolerated) ? exit_lossy : 0;
}

// The end's probes, the output, what was lost; gives the exit status.
Result<int> Run::end() {
    session_.output.set_patience(patience_at_end(session_), hurry());
    run_end_probes(session_, rings_);
    Result<void> sunk;
    const auto keep = [&sunk](Result<void> done) {
        if (sunk)
            sunk = std::move(done);
    };
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        keep(sink->finish(hurry()));
    if (options_.timing)
        session_.tell_sinks(SinkText::HitTimes, session_.data.hit_report.text(plan_, session_.data.kernel.get()));
    finish_output(session_, *signals_);
    session_.count_losses();
    const SessionEnd how{session_.accounting, status(), session_.data.words->errors, session_.data.words->skipped,
                         hurry()};
    for (size_t i = session_.sinks.size(); i-- > 0;)
        keep(session_.sinks[i]->close(how));
    session_.output.finish(patience_at_end(session_));
    session_.report();
    if (!ended_in_begin_ && joined_)
        session_.say_unhit();
    const bool unwritten = !session_.output.failure().empty();
    // A reader that has enough is no news: `sonde ... | head -3`.
    const bool was_left = session_.output.failure().ends_with(errno_error("", EPIPE).message);
    if (unwritten && !was_left)
        say("ERROR: " + session_.output.failure());
    if (session_.failed)
        say("Pass 5: run failed.");
    if (!sunk)
        return sunk.error();
    if (!joined_)
        say("ERROR: " + joined_.error().message);
    session_.messages->finish(hurry());
    signals_->ignore_from_here();
    return status();
}

} // namespace

Result<int> run_session(const plan::Plan& plan, const SessionOptions& options) {
    if (std::string why = why_no_changes(plan.changes); !why.empty())
        return Error(why);
    if (!plan.writes.empty())
        if (std::string why = why_not_write(); !why.empty())
            return Error(
                fmt::format("the script changes the traced program's memory ({}), which this kernel does not allow: "
                            "{}; without the write the script can run",
                            plan.writes, why));
    if (std::string why = plan.bpf_object.empty() ? "" : why_no_own_proc(); !why.empty())
        return Error("sonde cannot tell which processes are meant: " + why);
    return Run(plan, options).run();
}

} // namespace sonde
