// Passes pictures of the session (picture.h) to another thread. The other thread requests one through an eventfd that
// the session's loop polls. A second eventfd reports that the picture is ready. Neither thread waits for the other.
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

    // For the session's thread. wanted_fd() is readable when a picture is requested. serve() takes the picture and
    // makes it available.
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
    // For any thread: makes told_fd() readable, for a new picture or for another reason.
    void tell() { eventfd_write(told_.get(), 1); }

    // For the other thread:
    void ask() { eventfd_write(wanted_.get(), 1); }
    int told_fd() const { return told_.get(); }
    // Returns the newest picture, if it was not taken before. Also resets told_fd().
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
