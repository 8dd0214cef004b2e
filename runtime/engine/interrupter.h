// Stops a handler that runs too long after the session was asked to end.
//
// A host handler runs in the session's thread, which does not read signals meanwhile. So a second thread waits for
// SIGINT, SIGTERM, SIGHUP and the end of -T. If the session does not react within 20 ms, this thread stops the running
// handler by raising SessionWords::least_action. A handler stops when its remaining actions are fewer than that number.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// The thread, and the words that it shares with the session's thread. One object for each session.
class Interrupter {
  public:
    // Starts the thread. Fails if the process has too many descriptors or threads.
    static Result<std::unique_ptr<Interrupter>> start();
    ~Interrupter();
    Interrupter(const Interrupter&) = delete;
    Interrupter& operator=(const Interrupter&) = delete;

    // The session's thread calls begin() before each handler and end() after it. It must have blocked the signals.
    // `least_action` points to the session's word. `timed`: the end of -T also stops the handler.
    void begin(uint64_t* least_action, bool timed);
    // Returns true if the handler was stopped.
    bool end();

    // Sets the end of -T in nanoseconds of CLOCK_MONOTONIC; INT64_MAX: no end.
    void set_deadline(int64_t ns);
    // Call this when the session has read a signal. timeout(1) and shells send a signal to the process and to its
    // group, so the same signal may arrive twice. The second one is dropped.
    void note_signal();

  private:
    Interrupter() = default;
    // The thread's function.
    void watch();
    // True if the session was asked to end and has not reacted. The caller holds the mutex.
    bool is_asked();

    Fd signals_, wake_;
    std::mutex mutex_; // protects the members below
    uint64_t* least_action_ = nullptr;
    uint64_t handler_ = 0; // counts begin() and end(): odd while a handler runs
    bool timed_ = false, over_ = false;
    int64_t deadline_ns_ = INT64_MAX, signal_ns_ = INT64_MIN / 2;
    pthread_t thread_{};
    bool started_ = false;
};

} // namespace sonde
