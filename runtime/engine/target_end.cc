#include "runtime/engine/target_end.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/engine/attach_all.h"

namespace sonde {

TargetEnd::TargetEnd(int64_t process) : process_(process) {
    if (process != 0)
        fd_.reset(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

// A process that has ended stays in /proc until its parent has waited for it, so it is not counted.
bool TargetEnd::has_ended(const Session& session) {
    constexpr int64_t look_every_ns = 100'000'000;
    pollfd ended{fd_.get(), POLLIN, 0};
    if (fd_ && poll(&ended, 1, 0) > 0) {
        is_gone_ = true;
        fd_.reset();
    }
    const int64_t now = now_ns();
    if (!is_gone_ || now - looked_ns_ < look_every_ns)
        return false;
    looked_ns_ = now;
    return running_processes(session, process_).empty();
}

} // namespace sonde
