// Threads beside the session's own. Signals are for that one: it waits for them, and they interrupt its calls.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace sonde {

// Starts a thread that takes no signal.
template <typename Run> std::thread start_quiet_thread(Run&& run) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread out(std::forward<Run>(run));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return out;
}

} // namespace sonde
