// The ring buffers that carry records from handlers in the kernel to the session.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <optional>

#include "runtime/engine/flight_rings.h"
#include "runtime/engine/session_state.h"

namespace sonde {

// Two rings: one for events such as prints, and one for control records such as that of exit(). A flood of prints can
// fill the first ring, but not delay the records in the second, nor the other tasks of the session.
class Rings {
  public:
    Rings() = default;
    ~Rings();
    Rings(const Rings&) = delete;
    Rings& operator=(const Rings&) = delete;

    // Opens both rings. The session must have handlers in the kernel.
    Result<void> open(Session& session);
    // Passes all available records to the session. While the session runs, handlers may add records faster than they
    // are read, so the function returns after 40 ms at the latest.
    void drain();
    // Readable when a ring has records; -1 if the rings are not open.
    int event_fd() const { return events_ ? ring_buffer__epoll_fd(events_) : -1; }
    int control_fd() const { return control_ ? ring_buffer__epoll_fd(control_) : -1; }

  private:
    // libbpf's callback for a record. A negative result ends the drain.
    static int handle(void* opaque, void* record, size_t size);

    int64_t stop_at_ = INT64_MAX; // now_ns()
    uint32_t handled_ = 0;
    Session* session_ = nullptr;
    ring_buffer* events_ = nullptr;
    ring_buffer* control_ = nullptr;
    std::optional<FlightRings> flight_; // records that nobody reads until a dump
};

} // namespace sonde
