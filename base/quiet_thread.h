// Starts threads that block all signals. Signals go to the session's main thread, which waits for them and whose system
// calls they interrupt.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.h"

namespace sonde {

// Starts a thread that blocks all signals. `task`: its purpose, for the message "the thread that TASK". Errors: there
// is no memory, or the user has too many threads.
template <typename Run> Result<std::thread> start_quiet_thread(std::string_view task, Run&& run) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread out;
    int error = 0;
    try {
        out = std::thread(std::forward<Run>(run));
    } catch (const std::system_error& refused) {
        error = refused.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error)
        return errno_error("cannot start the thread that " + std::string(task), error);
    return out;
}

} // namespace sonde
