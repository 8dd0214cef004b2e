// A session from start to end. Run::run() executes these steps in order:
//
// 1. begin_output: create the sinks, open the output
// 2. load: open the probed files, load BPF programs and host code
// 3. start_command: start the command of -c, stopped before its first instruction
// 4. arm: attach all probes; their handlers are still disabled
// 5. trace: run begin handlers, enable the handlers, release the command, and process events (pump)
// 6. stop: disable the handlers, detach all probes
// 7. end: run end handlers, write the results, count the losses
//
// --dry-run ends after step 4. The attachments are then destroyed, and the stopped command is killed.
//
// The order guarantees complete counts. The command starts only when every probe is armed, so its first instruction is
// seen. Handlers in the kernel check SessionWords::state, so they run only after all begin handlers and before the
// first end handler.
#include "runtime/engine/session.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/processes.h"
#include "runtime/attach/attach.h"
#include "runtime/attach/moved_text.h"
#include "runtime/attach/watchpoint.h"
#include "runtime/engine/added_probes.h"
#include "runtime/engine/attach_all.h"
#include "runtime/engine/control_process.h"
#include "runtime/engine/cost.h"
#include "runtime/engine/handler_runs.h"
#include "runtime/engine/lost_breakpoints.h"
#include "runtime/engine/overload.h"
#include "runtime/engine/prepare.h"
#include "runtime/engine/reader_wait.h"
#include "runtime/engine/replay_events.h"
#include "runtime/engine/rings.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/signals.h"
#include "runtime/engine/target_check.h"
#include "runtime/engine/target_end.h"
#include "runtime/engine/timers.h"
#include "runtime/engine/unhit.h"
#include "runtime/kernel/features.h"
#include "runtime/plan/kinds.h"
#include "runtime/processes/command.h"
#include "runtime/processes/probed_files.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

constexpr int64_t looked_at_ns = 1000000000; // interval of checks for changed files and new processors
constexpr int poll_ms = 10;       // handlers do not wake the session for a few events, so poll at this interval
constexpr int lazy_poll_ms = 100; // the same if only warnings and the like arrive

// How long a turn of the loop waits for the reader of the output (docs/decisions/runtime.md).
constexpr int64_t turn_wait_ns = 20'000'000;

int64_t end_after(int64_t begin_ns, int64_t limit_ns) {
    return limit_ns > INT64_MAX - begin_ns ? INT64_MAX : begin_ns + limit_ns;
}

// The control files and standard input.
struct Files {
    Files(std::unique_ptr<ControlProcess> files, const RunFileHandler& handler, DumpHandler dumper,
          const plan::Plan& plan)
        : control(std::move(files)), run(handler), dump(std::move(dumper)), input(plan, handler) {}
    std::unique_ptr<ControlProcess> control; // null: none
    RunFileHandler run;
    DumpHandler dump;
    StandardInput input;
};

void say_changes(ProbedFiles& probed) {
    for (const std::string& change : probed.notice_changes())
        warn(change, Weight::Answer);
}

// True if all probes run only once, at the start, so that the session has nothing to wait for.
bool ends_by_itself(const plan::Plan& plan) {
    auto is_over = [](const plan::Probe& probe) {
        return plan::runs_alone(probe.kind) || plan::traits(probe.kind).once;
    };
    return plan.has([](plan::ProbeKind kind) { return plan::traits(kind).once; }) &&
           std::all_of(plan.probes.begin(), plan.probes.end(), is_over);
}

// True if only begin handlers exist. A whole session of this kind goes on until the user ends it, but as a part of an
// interactive session it has done its work.
bool is_over(const plan::Plan& plan) {
    return std::ranges::all_of(
        plan.probes, [](const plan::Probe& probe) { return plan::traits(probe.kind).cause == plan::Cause::Start; });
}

// One run of a plan. C++ destroys members in reverse order, so attachments are destroyed before the objects that they
// use.
class Run {
  public:
    Run(const plan::Plan& plan, const SessionOptions& options, const Translate& translate, const SessionHooks& hooks,
        const SharedSession* shared)
        : plan_(plan), options_(options), hooks_(hooks), session_(plan, options, translate, hooks), shared_(shared) {
        if (shared && !shared->is_part()) {
            added_.emplace(session_, attachments_, *shared);
            session_.data.editor = &*added_;
        }
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    Result<int> run() {
        for (auto step : {&Run::begin_output, &Run::load, &Run::start_command, &Run::arm})
            if (Result<void> done = (this->*step)(); !done)
                return std::move(done).error();
        if (options_.dry_run)
            return 0;
        if (Result<void> traced = trace(); !traced)
            return std::move(traced).error();
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
    void replay();
    void wait_for_events(int64_t most_ns);
    void wait_for_hit() const;
    void stop();
    int status() const;
    Result<int> end();

    std::string run_file_handler(const plan::Probe& probe, const std::string& value, uint64_t limit) {
        session_.host.file_value = value;
        session_.host.file_limit = limit;
        if (!session_.exiting)
            run_handler(session_, rings_, probe);
        return std::exchange(session_.host.file_value, {});
    }
    bool is_paused() const { return shared_ && shared_->is_paused(); }
    bool is_part() const { return shared_ && shared_->is_part(); }
    Writer::GiveUp hurry() {
        return [this] { return signals_->take_hurry(); };
    }

    const plan::Plan& plan_;
    const SessionOptions& options_;
    const SessionHooks& hooks_;
    rlimit files_before_{}; // the original limit of open files, for the command
    Session session_;
    const SharedSession* shared_; // null: the session shares nothing
    std::optional<ProbedFiles> probed_;
    SoundPlaces places_;
    std::optional<Signals> signals_;
    plan::LinkKinds links_;
    Rings rings_;
    Command command_;
    struct AtEnd {
        Command& command;
        ~AtEnd() { command.terminate(); }
    } at_end_{command_};
    std::unique_ptr<ControlProcess> control_; // moved to files_ in arm()
    std::optional<Files> files_;
    Attachments attachments_;
    std::optional<AddedProbes> added_; // --editable
    std::optional<Watchpoints> watchpoints_;
    std::unique_ptr<MovedText> moved_text_;  // null if no probed program may move its code
    int64_t enabled_ns_ = 0, traced_ns_ = 0; // when handlers began to run, and for how long
    bool ended_in_begin_ = false;
    bool command_failed_ = false;
    bool is_whole_ = true;                // false: the recording is incomplete
    std::optional<TargetEnd> target_end_; // of a tool with -x
    int crash_ = 0;                       // the signal that ended the command; 0: none, or sonde itself ended it
    Result<void> joined_;                 // an error if the command's exec was not seen
};

// The server of control files starts first, so that it inherits no resources of the session.
Result<void> Run::begin_output() {
    if (hooks_.events)
        adopt_recording(session_, *hooks_.events);
    const SpecialFiles special = {.edits = added_.has_value(),
                                  .dump = options_.has_flight && !plan_.translate.module.empty()};
    Result<std::unique_ptr<ControlProcess>> control = ControlProcess::start(plan_, special);
    if (!control)
        return std::move(control).error();
    control_ = *std::move(control);
    // A dry run has no sinks and opens no output file, so it does not delete the results of an earlier session.
    Result<Sinks> sinks = options_.dry_run ? Sinks() : hooks_.make_sinks(session_.data, session_.output);
    if (!sinks)
        return std::move(sinks).error();
    session_.sinks = *std::move(sinks);
    if (Result<void> opened = session_.output.open(options_.dry_run ? OutputFile() : options_.output); !opened)
        return opened;
    Result<std::unique_ptr<Messages>> messages =
        Messages::start(session_.output.writer(), session_.output.is_same_file_as(STDERR_FILENO), options_.raw);
    if (!messages)
        return std::move(messages).error();
    session_.messages = *std::move(messages);
    if (Result<void> target = check_target(session_); !target)
        return target;
    session_.held_back = std::make_unique<HeldBack>(session_.output, *session_.messages);
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        if (Result<void> opened = sink->open(); !opened)
            return opened;
    return {};
}

Result<void> Run::load() {
    files_before_ = allow_many_files();
    // Check first if the probes can be attached, since loading takes time.
    if (Result<void> possible = check_probing(plan_); !possible)
        return possible;
    Result<ProbedFiles> probed = ProbedFiles::open(plan_, hooks_.saved_as);
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
    links_ = find_link_kinds(plan_, session_.translate.attach == "perf_event");
    if (Result<void> prepared = prepare(session_, links_, shared_ ? &shared_->maps : nullptr); !prepared)
        return prepared;
    return session_.data.kernel ? rings_.open(session_) : Result<void>();
}

// Starts the command in a stopped state, and reads the symbols of its program.
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
    session_.target.program = command_.pid() ? command_.program() : process_program(options_.target_pid);
    if (session_.data.kernel)
        session_.data.symbols.begin(plan_, *session_.data.kernel, programs, options_.target_pid);
    return {};
}

// Attaches every probe. The control files appear last, so a user who sees them can rely on all probes.
Result<void> Run::arm() {
    // Before this point, nothing is attached, and a signal simply ends the process. This matters, because the verifier
    // and reading large symbol tables may take long.
    signals_.emplace(*session_.interrupter);
    RunFileHandler run = [this](const plan::Probe& probe, const std::string& value, uint64_t limit) {
        return run_file_handler(probe, value, limit);
    };
    DumpHandler dump = [this](const std::optional<std::string>& why) {
        if (why)
            session_.dump(*why);
        return session_.data.last_dump;
    };
    files_.emplace(std::move(control_), run, std::move(dump), plan_);
    if (session_.data.kernel) {
        if (Result<void> seen = check_target_filter(session_); !seen)
            return seen;
        session_.target.probed = probed_inodes(plan_);
        if (plan_.has(plan::is_uprobe) && command_.pid())
            session_.target.files.follow(command_.pid());
        else if (plan_.has(plan::is_uprobe) && options_.target_pid)
            session_.target.files.look_at(options_.target_pid);
        if (Result<void> attached =
                attach_all(session_, attachments_, *probed_, places_, links_, [this] { return signals_->take_end(); });
            !attached)
            return attached;
        if (Result<void> watched = begin_watching(); !watched)
            return watched;
        if (plan_.follows_moved_text()) {
            Result<std::unique_ptr<MovedText>> moved =
                MovedText::start(plan_, *session_.data.kernel, *probed_, attachments_, session_.warned,
                                 plan_.filter_target ? running_processes(session_, command_.pid()) : all_processes(),
                                 links_.uprobe_multi);
            if (!moved)
                return std::move(moved).error();
            moved_text_ = *std::move(moved);
        }
    }
    Result<void> mounted = files_->control ? files_->control->mount() : Result<void>();
    if (mounted || plan_.has(plan::is_file))
        return mounted;
    // The only file is that of `sonde dump NAME`, and there are other triggers.
    warn(fmt::format("`sonde dump {}` cannot reach this session, but SIGUSR1 can: {}", plan_.module,
                     mounted.error().message),
         Weight::Answer);
    files_->control.reset();
    return {};
}

Result<void> Run::begin_watching() {
    if (!plan_.has([](plan::ProbeKind kind) { return plan::traits(kind).mechanism == plan::Mechanism::Watchpoint; }))
        return {};
    watchpoints_.emplace(plan_, *session_.data.kernel);
    return watchpoints_->begin(running_processes(session_, command_.pid()), links_.uprobe_multi);
}

// Runs begin handlers, then the rest of the session. Effects of begin handlers, such as printed text, are held back
// until the handlers of all probes are enabled.
Result<void> Run::trace() {
    if (session_.data.kernel)
        session_.held_back->begin();
    be_patient_in_begin(session_, *signals_);
    session_.interrupter->set_deadline(end_after(now_ns(), time_limit_ns(session_)));
    run_begin_probes(session_, rings_);
    ended_in_begin_ = session_.exiting;
    if (!ended_in_begin_)
        return trace_events();
    if (session_.exited && shared_)
        shared_->exited();
    session_.held_back->release();
    return {};
}

Result<void> Run::trace_events() {
    __atomic_store_n(&session_.data.words->state, is_paused() ? plan::Arming : plan::Running, __ATOMIC_SEQ_CST);
    enabled_ns_ = now_ns();
    if (session_.data.kernel)
        begin_running_tasks(plan_, *session_.data.kernel, command_.pid());
    for (const std::unique_ptr<Attachment>& attachment : attachments_)
        if (Result<void> begun = attachment->begin(); !begun)
            return begun;
    session_.exiting =
        session_.exiting || (ends_by_itself(plan_) && !command_.pid() && !added_) || (is_part() && is_over(plan_));
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        sink->start(); // before any output: --live takes over the screen
    session_.held_back->release();
    session_.turn_sinks(session_.data.now(), true);
    command_.release();
    session_.messages->settle(hurry());
    hooks_.armed();
    if (hooks_.events)
        replay();
    else
        pump();
    say_changes(*probed_);
    command_failed_ = command_.pid() && command_failed(command_, options_.command, plan_.has(plan::is_uprobe));
    if (const std::optional<int> status = command_.pid() ? command_.poll() : std::nullopt) {
        joined_ = check_target_joined(session_);
        crash_ = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
    }
    session_.target.files.drain();
    if (options_.target_pid && plan_.has(plan::is_uprobe))
        session_.target.files.look_at(options_.target_pid);
    return {};
}

// The main loop: processes records, timers, control files and signals until the session ends.
void Run::pump() {
    std::optional<OverloadGuard> overload;
    if (const double limit = options_.overload.value_or(default_overload_limit(plan_));
        session_.data.kernel && !(options_.overload && std::isinf(limit)))
        overload.emplace(plan_, *session_.data.kernel, limit);
    Timers timers(plan_);
    const int64_t started = now_ns(), limit = time_limit_ns(session_);
    int64_t looked = started;
    session_.interrupter->set_deadline(end_after(started, limit));
    timers.start(started);
    const auto is_ending = [this] { return session_.exiting; };
    // A user may have accessed a control file before mount() returned. Such requests were received with its answer, so
    // poll() would not report them.
    if (files_->control)
        files_->control->serve(files_->run, files_->dump, session_.data.editor, is_ending);
    if (!plan_.translate.tool.empty() && plan_.filter_target && options_.target_pid && session_.data.kernel)
        target_end_.emplace(options_.target_pid);
    const int64_t poll_ns = !session_.data.kernel        ? 1000000000ll
                            : session_.data.kept_records ? lazy_poll_ms * 1000000ll
                                                         : poll_ms * 1000000ll;
    while (!session_.exiting) {
        const int64_t wait = session_.until_sinks(now_ns(), timers.until_next(poll_ns));
        wait_for_events(std::min(wait, std::max<int64_t>(0, limit - (now_ns() - started))));
        if (overload)
            disarm_costly(session_, *overload, attachments_);
        if (session_.data.kernel)
            session_.groups.refresh(*session_.data.kernel);
        session_.target.files.drain();
        __atomic_store_n(&session_.data.words->tai_offset_ns, tai_offset_ns(), __ATOMIC_RELAXED);
        if (moved_text_)
            moved_text_->look();
        session_.turn_sinks(now_ns());
        if (signals_->take_switch())
            session_.output.switch_file();
        if (signals_->take_dump())
            session_.dump("SIGUSR1");
        if (signals_->take_end()) {
            session_.exiting = session_.interrupted = true;
            if (signals_->was_hung_up())
                hooks_.hung_up();
        }
        hooks_.turned();
        if (command_.pid() && command_.poll()) {
            rings_.drain();
            session_.exiting = true;
        }
        if (target_end_ && !session_.exiting && target_end_->has_ended(session_)) {
            rings_.drain();
            say(fmt::format("process {} has ended", options_.target_pid));
            session_.exiting = true;
        }
        if (!session_.exiting) {
            const auto due = timers.take_due(now_ns());
            if (!is_paused())
                run_points(session_, rings_, due);
        }
        const int64_t now = now_ns();
        if (!session_.exiting && now - started >= limit) {
            make_up(session_, rings_, timers, started + limit);
            session_.exiting = session_.interrupted = true;
        }
        if (now - looked >= looked_at_ns) {
            looked = now;
            if (session_.data.kept_records)
                session_.data.kept_records->watch();
            say_changes(*probed_);
            for (const std::unique_ptr<Attachment>& attachment : attachments_)
                attachment->look_after();
        }
        session_.output.flush();
        if (session_.output.failure())
            session_.exiting = true;
        if (__atomic_load_n(&session_.data.words->skipped, __ATOMIC_RELAXED) > plan_.translate.max_skipped()) {
            say("ERROR: Skipped too many probes, check MAXSKIPPED or try again with sonde -t for more details.");
            session_.failed = session_.exiting = true;
        }
    }
    if (!session_.exited && now_ns() - started >= limit)
        timers.end(started + limit);
    for (const auto& [probe, runs] : timers.dropped())
        session_.accounting.add(Loss::TimerRuns, runs, probe->place, probe->points.empty() ? "" : probe->points[0].pp);
}

// Instead of pump(), for a script over a recording.
void Run::replay() {
    session_.interrupter->set_deadline(INT64_MAX);
    replay_events(session_, rings_, *hooks_.events, [this] {
        session_.turn_sinks(session_.host.time_ns);
        session_.output.flush();
        hooks_.turned();
        return signals_->take_end() || session_.output.failure();
    });
}

// Waits for events, and processes those of all descriptors.
void Run::wait_for_events(int64_t most_ns) {
    std::vector<pollfd> fds = {{signals_->fd(), POLLIN, 0},
                               {rings_.control_fd(), POLLIN, 0},
                               {rings_.event_fd(), POLLIN, 0},
                               {session_.output.writer().failure_fd(), POLLIN, 0},
                               {files_->control ? files_->control->fd() : -1, POLLIN, 0},
                               {files_->input.fd(), POLLIN, 0},
                               {target_end_ ? target_end_->fd() : -1, POLLIN, 0}};
    const size_t first_sink = fds.size();
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        fds.push_back({sink->fd(), POLLIN, 0});
    if (added_)
        added_->add_descriptors(fds);
    const timespec timeout{most_ns / 1000000000, most_ns % 1000000000};
    ppoll(fds.data(), fds.size(), &timeout, nullptr);
    session_.output.set_patience({turn_wait_ns, Patience::forever}, [] { return false; });
    rings_.drain();
    const auto is_ending = [this] { return session_.exiting; };
    if (fds[4].revents && !session_.exiting)
        files_->control->serve(files_->run, files_->dump, session_.data.editor, is_ending);
    if (fds[5].revents && !session_.exiting)
        files_->input.serve(is_ending);
    for (size_t i = 0; i < session_.sinks.size(); i++)
        if (fds[first_sink + i].revents)
            session_.sinks[i]->serve();
    if (added_)
        added_->serve();
}

// Waits until all handlers of the hit that ended the session have run (codegen/bpf/one_hit.h). The time is limited: the
// kernel may have missed a handler, or the thread gets no processor.
void Run::wait_for_hit() const {
    constexpr int64_t most_ns = 500'000'000, turn_ns = 200'000;
    const int64_t began = now_ns();
    const timespec turn{0, turn_ns};
    while (__atomic_load_n(&session_.data.words->ending_task, __ATOMIC_SEQ_CST) && now_ns() - began < most_ns)
        nanosleep(&turn, nullptr);
}

// Stops tracing. No kernel handler runs after the return.
void Run::stop() {
    if (session_.exited && shared_)
        shared_->exited();
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        sink->stop();
    __atomic_store_n(&session_.data.words->state, plan::Stopping, __ATOMIC_SEQ_CST);
    if (enabled_ns_ != 0)
        traced_ns_ = now_ns() - enabled_ns_;
    wait_for_hit();
    // After the script's handlers have stopped, and before its `end` handlers run, as if all were one script.
    if (added_)
        added_->end_all();
    for (const std::unique_ptr<Attachment>& attachment : attachments_)
        session_.data.missed[attachment->probe] += attachment->missed();
    if (moved_text_)
        moved_text_->look(); // detaching would wait for the handlers in which these processes wait
    warn_of_lost_breakpoints(session_, *probed_, attachments_);
    // Detach in reverse order. The kernel runs the program that was attached last first. Detaching it waits for a
    // running hit, and at its end all other programs of the place have run for this hit, too.
    while (!attachments_.empty())
        attachments_.pop_back();
    if (watchpoints_)
        watchpoints_->clear();
    if (moved_text_)
        moved_text_->look(); // lets waiting processes continue
    moved_text_.reset();
    files_->control.reset();
    command_.terminate();
    rings_.drain();
    for (const std::unique_ptr<Sink>& sink : session_.sinks)
        sink->detached();
    session_.turn_sinks(session_.data.now(), true);
}

int Run::status() const {
    if (!joined_ || session_.failed || session_.output.failure() || command_failed_ || (added_ && added_->has_failed()))
        return 1;
    const bool is_lossy = session_.accounting.lossy(options_.tolerated) || (added_ && added_->is_lossy());
    return is_lossy || !is_whole_ ? exit_lossy : 0;
}

// Runs end handlers, finishes the output and reports losses. Returns the exit status.
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
    if (session_.translate.timing)
        session_.tell_sinks(SinkText::HitTimes, session_.data.hit_report.text(plan_, session_.data.kernel.get()));
    finish_output(session_, *signals_);
    if (options_.has_flight && crash_)
        session_.dump(describe_crash(fmt::format("`{}`", options_.command), crash_));
    session_.count_losses();
    if (hooks_.events) {
        say_lacking(session_);
        is_whole_ = hooks_.events->say_end();
    }
    const SessionEnd how{session_.accounting, status(), session_.data.words->errors, session_.data.words->skipped,
                         hurry()};
    for (size_t i = session_.sinks.size(); i-- > 0;)
        keep(session_.sinks[i]->close(how));
    session_.output.finish(patience_at_end(session_));
    session_.report();
    if (options_.tells_cost)
        say_cost(session_, traced_ns_);
    if (!ended_in_begin_ && joined_ && !is_part() && !hooks_.events && !hooks_.is_sample)
        session_.say_unhit();
    // A reader that has seen enough is not an error: `sonde ... | head -3`.
    if (const std::optional<Error> failure = session_.output.failure(); failure && failure->os_error != EPIPE)
        say("ERROR: " + failure->message);
    if (session_.failed && !is_part())
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

Result<int> run_session(const plan::Plan& plan, const SessionOptions& options, const Translate& translate,
                        const SessionHooks& hooks, const SharedSession* shared) {
    if (Result<void> allowed = check_allowed(plan); !allowed)
        return std::move(allowed).error();
    return Run(plan, options, translate, hooks, shared).run();
}

} // namespace sonde
