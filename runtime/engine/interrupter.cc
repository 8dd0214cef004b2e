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

constexpr int64_t grace_ns = 20'000'000;  // for the session to take a signal by itself
constexpr int64_t apart_ns = 300'000'000; // two signals that are nearer to each other are one

// A thread waits for it for ever, so that a write that fails is tried again. EAGAIN: it is awake already.
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
    if (now - signal_ns_ > apart_ns)
        return true;
    signalfd_siginfo again{};
    while (read(signals_.get(), &again, sizeof again) == sizeof again) {
    }
    return false;
}

void Interrupter::watch() {
    keep_capabilities({});
    uint64_t seen = 0; // the handler that ran when the session was asked to end
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
        // A signal that the session does not take stays readable.
        pollfd fds[] = {{wake_.get(), POLLIN, 0}, {most_ns == grace_ns ? -1 : signals_.get(), POLLIN, 0}};
        const timespec timeout{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
        ppoll(fds, 2, most_ns == INT64_MAX ? nullptr : &timeout, nullptr);
        eventfd_t count;
        eventfd_read(wake_.get(), &count);
    }
}

} // namespace sonde
