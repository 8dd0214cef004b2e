#include "runtime/engine/target_check.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "runtime/engine/session_state.h"

namespace sonde {

Result<void> check_target_filter(Session& session) {
    if (!session.plan.filter_target || !session.data.kernel)
        return {};
    const int64_t own = getpid();
    TargetSet targets = session.data.kernel->targets();
    const int64_t in_kernel = session.data.kernel->numbers().in_kernel(own); // the bits go by that
    const bool was_in = targets.has(in_kernel);
    const int64_t target = std::exchange(session.data.words->target, own);
    Result<uint32_t> run = session.data.kernel->run("sonde_follow_exec", {});
    session.data.words->target = target;
    if (!run)
        return std::move(run).error().in("cannot check the filter for the target");
    const bool seen = std::exchange(session.data.words->joined, 0) == 1 && targets.has(in_kernel);
    if (!was_in)
        targets.remove(in_kernel);
    if (!seen)
        return Error(
            fmt::format("handlers would not see the target: the session's own process, {} here and {} in the kernel, "
                        "does not pass the filter when it is the target; without -c and -x the script can run",
                        own, in_kernel));
    return {};
}

Result<void> check_target_joined(const Session& session) {
    if (!session.plan.filter_target || !session.data.kernel || session.data.words->joined > 0)
        return {};
    return Error("the command was not seen to begin, so no handler ran for it: its hits are unknown, not none");
}

} // namespace sonde
