// The ring buffers through which handlers in the kernel send their records.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>

#include "runtime/engine/session_state.h"

namespace sonde {

// Events come after control records in a drain, so that a flood of prints cannot delay an exit(); nor does it delay
// what else the session does.
class Rings {
  public:
    Rings() = default;
    ~Rings();
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    // Both of a session with programs in the kernel.
    Result<void> open(Session& session);
    // Hands the session what is there. While hits go on filling the rings there is no end, so it takes so many
    // milliseconds at most.
    void drain();
    // Readable when there is something; -1: not open.
    int event_fd() const { return events_ ? ring_buffer__epoll_fd(events_) : -1; }
    int control_fd() const { return control_ ? ring_buffer__epoll_fd(control_) : -1; }

  private:
    static int handle(void* opaque, void* record, size_t size);

    int64_t stop_at_ = INT64_MAX; // now_ns()
    uint32_t handled_ = 0;
    Session* session_ = nullptr;
    ring_buffer* events_ = nullptr;
    ring_buffer* control_ = nullptr;
};

} // namespace sonde
