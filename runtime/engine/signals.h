// Signals to the session, taken when it has time for them.
#pragma once

#include <signal.h>

#include <cstdint>

#include "base/fd.h"
#include "runtime/engine/interrupter.h"

namespace sonde {

// Blocks SIGINT, SIGTERM, SIGHUP, SIGCHLD and SIGUSR2 as long as it lives, and ignores SIGPIPE from then on.
class Signals {
  public:
    explicit Signals(Interrupter& interrupter);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    int fd() const { return fd_.get(); } // readable when one has come
    // True if the session was asked to end.
    bool take_end();
    // True if that was by SIGHUP.
    bool was_hung_up() const { return hung_up_; }
    // True if the output is to go on in the next file, as programs that rotate logs ask for.
    bool take_switch();
    // True if it was asked again: nothing is waited for any more. timeout(1) and shells send one signal twice.
    bool take_hurry();
    // Whoever wants the session to end has what was wanted: the process ends, with the status of its session.
    void ignore_from_here();

  private:
    bool read_pending();

    Interrupter& interrupter_;
    sigset_t mask_{}, old_{};
    Fd fd_;
    int64_t asked_at_ = 0; // now_ns(); 0: not yet
    bool hurried_ = false, switches_ = false, hung_up_ = false;
};

} // namespace sonde
