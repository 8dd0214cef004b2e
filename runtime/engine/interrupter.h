// Ends handlers that run too long when the session is told to end.
//
// A host handler runs in the session's thread, which reads no signals meanwhile. So a thread of its own waits for
// SIGINT, SIGTERM, SIGHUP and the end of -T. What the session has not taken within a few milliseconds ends the handler
// that runs: where it counts its statements, it compares what is left with SessionWords::least_action.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

class Interrupter {
  public:
    // Errors: no descriptor, no thread.
    static Result<std::unique_ptr<Interrupter>> start();
    ~Interrupter();
    Interrupter(const Interrupter&) = delete;
    Interrupter& operator=(const Interrupter&) = delete;

    // Around each handler, in the session's thread, which has blocked the signals. `least_action`: the session's word.
    // `timed`: the end of -T ends the handler, too.
    void begin(uint64_t* least_action, bool timed);
    // True if the handler was told to end.
    bool end();

    // When -T is over (CLOCK_MONOTONIC); INT64_MAX: never.
    void set_deadline(int64_t ns);
    // The session has taken a signal. timeout(1) and shells send one twice: the second is dropped.
    void note_signal();

  private:
    Interrupter() = default;
    void watch();
    // What is known with the mutex held.
    bool is_asked();

    Fd signals_, wake_;
    std::mutex mutex_; // for what follows
    uint64_t* least_action_ = nullptr;
    uint64_t handler_ = 0; // a number for each that runs; even: none does
    bool timed_ = false, over_ = false;
    int64_t deadline_ns_ = INT64_MAX, signal_ns_ = INT64_MIN / 2;
    pthread_t thread_{};
    bool started_ = false;
};

} // namespace sonde
