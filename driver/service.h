// sonde as a service of systemd's: what it tells the service manager (sd_notify(3)). The protocol is a text in a
// datagram to the socket that $NOTIFY_SOCKET names, and nothing else of libsystemd is needed: so packages that run
// everywhere need no library for it. Without that variable nothing is told.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

// "READY=1", "STATUS=TEXT", "WATCHDOG=1"; several on lines of their own.
void tell_manager(const std::string& state);
// A manager has started it, and wants to hear.
bool is_service();

// What the manager takes for a sign of life, at half of the time that $WATCHDOG_USEC gives. Without it, nothing.
class Watchdog {
  public:
    Watchdog();
    void feed();

  private:
    int64_t interval_ns_ = 0, fed_at_ = 0;
};

// `systemctl reload`: the same command line anew, in this very process, so that the manager sees the one service that
// it knows. Comes back only if that cannot be, with the reason.
Error begin_anew();

} // namespace sonde
