// How another thread gets a picture of the session (picture.h): it asks by a descriptor that the session's loop waits
// for, and is told by another one. Neither waits for the other.
#pragma once

#include <sys/eventfd.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/sinks/metrics/picture.h"

namespace sonde {

class PictureExchange {
  public:
    PictureExchange()
        : wanted_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), told_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    bool valid() const { return wanted_ && told_; }
    int64_t began_ns() const { return began_ns_; }

    // In the session's thread: readable when somebody waits for a picture; takes it.
    int wanted_fd() const { return wanted_.get(); }
    void serve(const SessionData& data, const OtlpPusher* pusher) {
        clear(wanted_);
        MetricsPicture picture = take_metrics_picture(data, pusher, began_ns_);
        {
            const std::lock_guard lock(mutex_);
            picture_ = std::move(picture);
        }
        tell();
    }
    // From any thread: told_fd() becomes readable, for a picture or for another reason.
    void tell() { eventfd_write(told_.get(), 1); }

    // In the other thread.
    void ask() { eventfd_write(wanted_.get(), 1); }
    int told_fd() const { return told_.get(); }
    // The newest picture that was not taken yet, if there is one. told_fd() is not readable then.
    std::optional<MetricsPicture> take() {
        clear(told_);
        const std::lock_guard lock(mutex_);
        return std::exchange(picture_, std::nullopt);
    }

  private:
    static void clear(const Fd& event) {
        eventfd_t value = 0;
        eventfd_read(event.get(), &value);
    }
    const int64_t began_ns_ = real_time_ns();
    const Fd wanted_, told_;
    std::mutex mutex_;
    std::optional<MetricsPicture> picture_;
};

} // namespace sonde
