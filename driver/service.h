// sonde as a service of systemd: its messages to the service manager (sd_notify(3)). The protocol is a text in a
// datagram to the socket in $NOTIFY_SOCKET. sonde implements this itself, so that portable packages need no libsystemd.
// Without that variable, sonde sends nothing.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

// Sends "READY=1", "STATUS=TEXT" or "WATCHDOG=1", or several of them on separate lines. Ignores errors.
void tell_manager(const std::string& state);
// Returns whether a service manager started sonde and expects messages.
bool is_service();

// Sends a sign of life to the manager, every half of $WATCHDOG_USEC. Without that variable, does nothing.
class Watchdog {
  public:
    Watchdog();
    // Call this in every turn of the main loop. It sends a message only if enough time has passed.
    void feed();

  private:
    int64_t interval_ns_ = 0, fed_at_ = 0;
};

// `systemctl reload`: runs the same command line again in this process, so that the manager sees the same service.
// Returns only if that fails, with the reason.
Error begin_anew();

} // namespace sonde
