// How the thread decides that a handler must be stopped.
//
// A signal stays readable in the signalfd until the session reads it. So "the signal is still readable after 20 ms"
// means "the session is busy". That alone is not enough: the session may be between two handlers, and a handler that
// has just started must not be stopped for the delay of its predecessor. The thread therefore remembers the value of
// `handler_` and acts only if the same handler is still running one turn later:
//
//     time    session                        thread
//     0 ms    handler 7 runs
//     5 ms    SIGINT arrives                 wakes up; seen = 7
//     25 ms   handler 7 still runs           asked, seen == handler_: least_action = INT64_MAX
//     25 ms   handler 7 stops; end() resets least_action; the session reads SIGINT
//
// If the handler ends at 20 ms instead, handler_ is 8 at 25 ms. Nothing happens, and the session reads the signal.
//
// begin(), end() and the decision hold the same mutex. Without it, the thread could set least_action just after end()
// has reset it, and stop the wrong handler.
//
// The thread never reads a signal that the session needs, except duplicates (is_asked).
#include "runtime/engine/interrupter.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "runtime/kernel/privileges.h"

namespace sonde {
namespace {

constexpr int64_t grace_ns = 20'000'000;  // time for the session to read a signal by itself
constexpr int64_t apart_ns = 300'000'000; // two signals within this time count as one

// Wakes the thread. The thread waits without a timeout, so a failed write is repeated. EAGAIN means that it is awake
// already.
void wake(int event) {
    constexpr int tries = 1000;
    for (int i = 0; i < tries && eventfd_write(event, 1) != 0 && errno != EAGAIN; i++) {
    }
}

} // namespace

Result<std::unique_ptr<Interrupter>> Interrupter::start() {
    std::unique_ptr<Interrupter> out(new Interrupter());
    sigset_t ends;
    sigemptyset(&ends);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&ends, signal);
    out->signals_ = Fd(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
    out->wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!out->signals_ || !out->wake_)
        return errno_error("cannot wait for signals", errno);
    // The new thread inherits this mask, so all signals go to the session's thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(
        &out->thread_, nullptr,
        [](void* opaque) -> void* {
            static_cast<Interrupter*>(opaque)->watch();
            return nullptr;
        },
        out.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error)
        return errno_error("cannot start the thread that waits for signals", error);
    out->started_ = true;
    return out;
}

Interrupter::~Interrupter() {
    if (!started_)
        return;
    {
        std::lock_guard lock(mutex_);
        over_ = true;
    }
    wake(wake_.get());
    pthread_join(thread_, nullptr);
}

void Interrupter::begin(uint64_t* least_action, bool timed) {
    std::lock_guard lock(mutex_);
    least_action_ = least_action;
    handler_++;
    timed_ = timed;
}

bool Interrupter::end() {
    std::lock_guard lock(mutex_);
    handler_++;
    return __atomic_exchange_n(least_action_, 0, __ATOMIC_RELAXED) != 0;
}

void Interrupter::set_deadline(int64_t ns) {
    {
        std::lock_guard lock(mutex_);
        deadline_ns_ = ns;
    }
    wake(wake_.get());
}

void Interrupter::note_signal() {
    std::lock_guard lock(mutex_);
    signal_ns_ = now_ns();
}

bool Interrupter::is_asked() {
    const int64_t now = now_ns();
    if (timed_ && now >= deadline_ns_)
        return true;
    pollfd pending{signals_.get(), POLLIN, 0};
    if (poll(&pending, 1, 0) != 1)
        return false;
    // The session has just read a signal, so this one is its duplicate: drop it.
    if (now - signal_ns_ > apart_ns)
        return true;
    signalfd_siginfo again{};
    while (read(signals_.get(), &again, sizeof again) == sizeof again) {
    }
    return false;
}

void Interrupter::watch() {
    keep_capabilities({});
    uint64_t seen = 0; // the value of handler_ in the previous turn
    while (true) {
        int64_t most_ns = grace_ns;
        {
            std::lock_guard lock(mutex_);
            if (over_)
                return;
            const bool asked = is_asked();
            if (asked && seen == handler_ && seen % 2 == 1)
                __atomic_store_n(least_action_, INT64_MAX, __ATOMIC_RELAXED);
            seen = handler_;
            if (!asked && deadline_ns_ == INT64_MAX)
                most_ns = INT64_MAX;
            else if (!asked)
                most_ns = std::max(grace_ns, deadline_ns_ - now_ns());
        }
        // While the session has not read the signal, the signalfd stays readable and would end each wait at once. So do
        // not poll it then.
        pollfd fds[] = {{wake_.get(), POLLIN, 0}, {most_ns == grace_ns ? -1 : signals_.get(), POLLIN, 0}};
        const timespec timeout{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
        ppoll(fds, 2, most_ns == INT64_MAX ? nullptr : &timeout, nullptr);
        eventfd_t count;
        eventfd_read(wake_.get(), &count);
    }
}

} // namespace sonde
