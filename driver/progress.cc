// The work does not look at the clock, so a thread waits for the second. It must end before the session begins: a
// session forks, and must receive all signals itself.
#include "driver/progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/quiet_thread.h"
#include "base/terminal_text.h"

namespace sonde {

struct Progress::Shown {
    std::string what;
    std::mutex lock;
    std::condition_variable ended;
    bool is_over = false;
    std::thread thread;

    void wait() {
        std::unique_lock<std::mutex> hold(lock);
        const auto begin = std::chrono::steady_clock::now();
        if (ended.wait_for(hold, std::chrono::seconds(1), [&] { return is_over; }))
            return;
        do {
            const auto seconds =
                std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
            fmt::print(stderr, "\r{} ... {} s\033[K", what, seconds.count());
            std::fflush(stderr);
        } while (!ended.wait_for(hold, std::chrono::seconds(1), [&] { return is_over; }));
        fmt::print(stderr, "\r\033[K");
        std::fflush(stderr);
    }
};

Progress::Progress(std::string what) {
    if (!is_capable_terminal(STDERR_FILENO))
        return;
    shown_ = std::make_unique<Shown>();
    shown_->what = std::move(what);
    if (Result<std::thread> thread = start_quiet_thread("shows the current step", [this] { shown_->wait(); }))
        shown_->thread = *std::move(thread);
    else
        shown_.reset();
}

Progress::~Progress() {
    if (!shown_)
        return;
    {
        const std::lock_guard<std::mutex> hold(shown_->lock);
        shown_->is_over = true;
    }
    shown_->ended.notify_one();
    shown_->thread.join();
}

} // namespace sonde
