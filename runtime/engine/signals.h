// Signals to the session. They are blocked, and read when the session is ready.
#pragma once

#include <signal.h>

#include <cstdint>

#include "base/fd.h"
#include "runtime/engine/interrupter.h"

namespace sonde {

// Blocks SIGINT, SIGTERM, SIGHUP, SIGCHLD and SIGUSR2 during its lifetime. Also ignores SIGPIPE, permanently.
class Signals {
  public:
    explicit Signals(Interrupter& interrupter);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    int fd() const { return fd_.get(); } // readable when a signal has arrived
    // True if a signal has asked the session to end.
    bool take_end();
    // True if SIGHUP was among these signals.
    bool was_hung_up() const { return hung_up_; }
    // True once after each SIGUSR2, by which log rotation asks for a new output file.
    bool take_switch();
    // Whether SIGUSR1 has arrived since the last call: the flight recorder shall write a recording.
    bool take_dump();
    // True if a second signal asked for the end, at least 300 ms after the first. The session then stops waiting for
    // anything. Signals that are closer together are duplicates, as timeout(1) and shells send them.
    bool take_hurry();
    // Ignores SIGINT, SIGTERM and SIGHUP from now on. The session is ending anyway, and the process must exit with the
    // session's status.
    void ignore_from_here();

  private:
    // Reads all pending signals. Returns true if one of them asks for the end.
    bool read_pending();

    Interrupter& interrupter_;
    sigset_t mask_{}, old_{};
    Fd fd_;
    int64_t asked_at_ = 0; // now_ns(); 0: not yet
    bool hurried_ = false, switches_ = false, dumps_ = false, hung_up_ = false;
};

} // namespace sonde
