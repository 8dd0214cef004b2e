// The filter for a target depends on PIDs, and a PID depends on the namespace: in a container, the session may know the
// target as 42 and the kernel as 31337. The filter's bits use the kernel's number, while SessionWords::target has the
// session's. If the conversion between the two is wrong, no handler ever runs, and the script prints zeros that look
// like a result.
//
// So the session tests the filter on itself. It pretends to be the target, and runs the program sonde_follow_exec in
// its own context. For a real command, the kernel runs this program at sched_process_exec:
//
//     1. words->target = the session's own PID
//     2. run sonde_follow_exec; it compares the current process with words->target
//     3. expected: words->joined is 1, and the bit of this process is set
//     4. restore words->target, words->joined and the bit
//
// Step 4 matters: without it, the session's own activity would count as the target's.
#include "runtime/engine/target_check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/processes.h"
#include "runtime/containers/groups.h"
#include "runtime/engine/session_state.h"
#include "runtime/plan/object_names.h"
#include "runtime/processes/command.h"
#include "runtime/text/messages.h"

namespace sonde {
namespace {

// Returns the process of a thread. Returns the number itself if /proc has no information.
int64_t process_of_thread(int64_t number) {
    std::ifstream status(fmt::format("/proc/{}/status", number));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Tgid:"))
            return std::atoll(line.c_str() + 5);
    return number;
}

} // namespace

Result<void> check_target(Session& session) {
    const SessionOptions& options = session.options;
    if (options.target_pid && !is_process(options.target_pid))
        return Error(fmt::format("-x {}: this process does not exist", options.target_pid));
    if (const int64_t process = options.target_pid ? process_of_thread(options.target_pid) : 0;
        process != options.target_pid)
        warn(fmt::format("-x {}: this is a thread of process {}, not a process; use -x {}", options.target_pid, process,
                         process),
             session.plan.filter_target ? Weight::Answer : Weight::Advice);
    if (Result<void> there = session.groups.check(); !there)
        return there;
    if (options.target_pid && session.plan.filter_groups && is_process(options.target_pid) &&
        !session.groups.has(options.target_pid))
        warn(fmt::format("-x {}: this process is not in {}, and probes see only processes in both", options.target_pid,
                         describe_groups(session.plan.groups)));
    return {};
}

bool command_failed(Command& command, const std::string& text, bool may_trap) {
    std::optional<int> status = command.poll();
    if (!status || *status == 0)
        return false;
    if (WIFSIGNALED(*status))
        warn(fmt::format("`{}` was ended by signal {} ({}){}", text, WTERMSIG(*status), strsignal(WTERMSIG(*status)),
                         may_trap && WTERMSIG(*status) == SIGTRAP
                             ? "; if it copies its code to writable and executable memory, it has reached a copied "
                               "breakpoint: do not probe the functions that it copies"
                             : ""),
             Weight::Answer);
    else
        warn(fmt::format("`{}` exited with status {}", text, WEXITSTATUS(*status)), Weight::Answer);
    return true;
}

Result<void> check_target_filter(Session& session) {
    if (!session.plan.filter_target || !session.data.kernel)
        return {};
    const int64_t own = getpid();
    TargetSet targets = session.data.kernel->targets();
    const int64_t in_kernel = session.data.kernel->numbers().in_kernel(own); // the bits use this number
    const bool was_in = targets.has(in_kernel);
    const int64_t target = std::exchange(session.data.words->target, own);
    Result<uint32_t> run = session.data.kernel->run(plan::programs::follow_exec, {});
    session.data.words->target = target;
    if (!run)
        return std::move(run).error().in("cannot check the filter for the target");
    const bool seen = std::exchange(session.data.words->joined, 0) == 1 && targets.has(in_kernel);
    if (!was_in)
        targets.remove(in_kernel);
    if (!seen)
        return Error(fmt::format("handlers would not see the target: the session's own process ({} here, {} in the "
                                 "kernel) does not pass the filter for targets; run the script without -c and -x",
                                 own, in_kernel));
    return {};
}

Result<void> check_target_joined(const Session& session) {
    if (!session.plan.filter_target || !session.data.kernel || session.data.words->joined > 0)
        return {};
    return Error(
        "sonde did not see the beginning of the command, so no handler ran for its hits, and their number is unknown");
}

} // namespace sonde
