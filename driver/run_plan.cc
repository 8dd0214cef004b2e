// The kernel's JIT compiler can fail on a handler that the verifier has accepted (runtime/load/load.h). The session
// then starts again with another arrangement of the same code. No probe is attached before that, so no event is lost.
#include "driver/run_plan.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/fd.h"
#include "driver/callers.h"
#include "driver/late_file.h"
#include "driver/pass.h"
#include "driver/service.h"
#include "driver/sinks.h"
#include "runtime/containers/move_roots.h"
#include "runtime/engine/session.h"
#include "runtime/kernel/privileges.h"
#include "runtime/load/load.h"
#include "runtime/plan/kinds.h"
#include "runtime/values/session_data.h"

namespace sonde {
namespace {

// Reports how sonde notices returns (docs/decisions/probes.md).
void tell_returns(const plan::Plan& plan) {
    size_t instructions = 0, addresses = 0;
    for (const plan::Probe& probe : plan.probes)
        if (probe.kind == plan::ProbeKind::Uretprobe)
            (probe.at_instruction ? instructions : addresses) += probe.points.size();
    if (instructions != 0)
        fmt::print(stderr, "Pass 5: returns are probed at {} instructions that leave functions.\n", instructions);
    if (addresses != 0)
        fmt::print(stderr, "Pass 5: {} functions return by way of a changed return address.\n", addresses);
}

// Calls `armed` when every probe is armed.
int run_here(const plan::Plan& given, const Options& options, const PlanRun& run, const std::function<void()>& armed) {
    PassTimer timer(5, options);
    if (options.driver.verbose[4] > 0)
        fmt::print(stderr, "Pass 5: starting run.\n");
    if (options.driver.verbose[4] > 0)
        tell_returns(given);
    SessionHooks hooks;
    hooks.saved_as = options.driver.saved_plan;
    hooks.make_sinks = [&, make = sink_maker(options)](SessionData& data, Output& output) {
        data.symbols.describe_frames_by(describe_frames);
        data.symbols.read_from(run.stack_copy);
        return make(data, output);
    };
    hooks.unhit = run.unhit;
    hooks.events = run.events;
    // A tool has alternative probe points of which only one is hit, and it runs with -w.
    hooks.several_ways = !options.translate.tool.empty() && options.translate.warnings_off;
    hooks.armed = [&] {
        drop_privileges(given);
        armed();
        if (const int ready = options.driver.ready_descriptor; ready >= 0)
            static_cast<void>(write(ready, "", 1));
        tell_manager(fmt::format("READY=1\nSTATUS=tracing: {} probe points", given.rows.size()));
    };
    Watchdog watchdog;
    hooks.turned = [&] { watchdog.feed(); };
    bool reloads = false;
    // With -F, the session is not the manager's main process. To start again, -F would start another process, whose
    // number nobody knows.
    hooks.hung_up = [&] { reloads = is_service() && !options.driver.background; };
    std::shared_ptr<const SharedSession> shared;
    if (run.start_editor) {
        Result<std::shared_ptr<const SharedSession>> started = run.start_editor();
        if (!started) {
            say_error(started.error().message);
            return say_failed(5);
        }
        shared = *std::move(started);
    }
    const auto run_once = [&](const plan::Plan& one) {
        return run_session(one, options.session, options.translate, hooks, shared.get());
    };
    // The processes of a saved plan's containers may have changed.
    Result<std::optional<plan::Plan>> moved = move_roots(given);
    if (!moved) {
        say_error(moved.error().message);
        return say_failed(5);
    }
    const plan::Plan& plan = *moved ? **moved : given;
    Result<int> status = run_once(plan);
    constexpr uint32_t most = 4;
    for (uint32_t i = 1; !status && status.error().os_error == kernel_cannot_compile && run.rearrange && i <= most;
         i++) {
        Result<plan::Plan> other = run.rearrange(i);
        status = other ? run_once(*other) : Result<int>(std::move(other).error());
    }
    if (!status) {
        say_error(status.error().message);
        return say_failed(5);
    }
    timer.done("run completed");
    if (reloads) {
        fflush(nullptr);
        say_error(begin_anew().message);
    }
    return *status;
}

// -F: runs the session in a child process, which ends by SIGTERM. Its messages go to FILE.err. Returns 0 when every
// probe is armed.
//
// The child writes one byte to a pipe at that moment. Until then it has the terminal, so errors of loading and
// attaching appear there. If the child ends earlier, read() returns 0, and its exit status becomes ours.
int run_in_background(const plan::Plan& plan, const Options& options, const PlanRun& run) {
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) != 0)
        return say_error(errno_error("cannot start a background process", errno).message), exit_failure;
    Fd reader(ready[0]), writer(ready[1]);
    pid_t child = fork();
    if (child < 0)
        return say_error(errno_error("cannot start a background process", errno).message), exit_failure;
    if (child == 0) {
        setsid();
        std::optional<LateFile> messages;
        int status = run_here(plan, options, run, [&] {
            Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
            for (int fd : {STDIN_FILENO, STDOUT_FILENO})
                dup2(nothing.get(), fd);
            messages.emplace(options.session.output.path + ".err");
            static_cast<void>(write(writer.get(), "", 1));
        });
        fflush(nullptr);
        messages.reset();
        _exit(status);
    }
    writer.reset();
    char armed;
    if (read(reader.get(), &armed, 1) == 1) {
        fmt::print("{}\n", child);
        return 0;
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : exit_failure;
}

} // namespace

int run_plan(const plan::Plan& plan, const Options& options, const PlanRun& run) {
    return options.driver.background ? run_in_background(plan, options, run) : run_here(plan, options, run, [] {});
}

} // namespace sonde
