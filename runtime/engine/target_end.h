// Notices the end of the process of -x, for tools: nothing can hit their probes any more, so waiting would be useless.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "runtime/engine/session_state.h"

namespace sonde {

class TargetEnd {
  public:
    // 0: there is no such process, and fd() is -1.
    explicit TargetEnd(int64_t process);
    // Readable when the process has ended. -1 once has_ended() has noticed that.
    int fd() const { return fd_.get(); }
    // Whether the process and all processes that it has started have ended. Looks for the latter every 100 ms at most.
    bool has_ended(const Session& session);

  private:
    int64_t process_;
    Fd fd_;
    bool is_gone_ = false;
    int64_t looked_ns_ = 0;
};

} // namespace sonde
