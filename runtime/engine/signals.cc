// Signals to the session.
//
// A signal handler may call few functions, and would interrupt the session anywhere. So the signals are blocked, and
// arrive through a descriptor that the session's loop polls (signalfd(2)). SIGCHLD is one of these, because the end of
// the command must wake the loop.
//
// SIGPIPE is ignored: write(2) then fails with EPIPE, and the session ends in the usual way, with its report.
#include "runtime/engine/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"

namespace sonde {

Signals::Signals(Interrupter& interrupter) : interrupter_(interrupter) {
    sigemptyset(&mask_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2})
        sigaddset(&mask_, signal);
    sigprocmask(SIG_BLOCK, &mask_, &old_);
    signal(SIGPIPE, SIG_IGN);
    fd_ = Fd(signalfd(-1, &mask_, SFD_CLOEXEC | SFD_NONBLOCK));
}

Signals::~Signals() { sigprocmask(SIG_SETMASK, &old_, nullptr); }

bool Signals::take_end() {
    read_pending();
    return asked_at_ != 0;
}

bool Signals::take_switch() {
    read_pending();
    return std::exchange(switches_, false);
}

bool Signals::take_dump() {
    read_pending();
    return std::exchange(dumps_, false);
}

// Only a signal that arrives well after the first one means that the user is impatient.
bool Signals::take_hurry() {
    constexpr int64_t apart_ns = 300'000'000;
    const int64_t before = asked_at_;
    if (read_pending() && before && now_ns() - before > apart_ns)
        hurried_ = true;
    return hurried_;
}

void Signals::ignore_from_here() {
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        ::signal(signal, SIG_IGN);
}

// Reads all pending signals. Returns true if one of them asks for the end. SIGCHLD only wakes the session.
bool Signals::read_pending() {
    signalfd_siginfo info{};
    bool end = false;
    while (read(fd_.get(), &info, sizeof info) == sizeof info) {
        hung_up_ = hung_up_ || info.ssi_signo == SIGHUP;
        if (info.ssi_signo == SIGUSR2)
            switches_ = true;
        else if (info.ssi_signo == SIGUSR1)
            dumps_ = true;
        else
            end = end || info.ssi_signo != SIGCHLD;
    }
    if (end && !asked_at_)
        asked_at_ = now_ns();
    if (end)
        interrupter_.note_signal();
    return end;
}

} // namespace sonde
