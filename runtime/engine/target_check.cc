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

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "runtime/engine/session_state.h"
#include "runtime/plan/object_names.h"

namespace sonde {

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
