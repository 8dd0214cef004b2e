// The ring buffers that carry records to the session.
//
// ring_buffer__consume() processes records until the buffer is empty. If handlers write faster than the session reads,
// it would never return: timers would not run, and ^C would have no effect. So handle() ends the call after 40 ms. Once
// the session is stopping, no new records arrive, and everything that is left must be read. The limit does not apply
// then.
//
// Control records are read after the events. The record of exit() therefore comes after the output that preceded it.
#include "runtime/engine/rings.h"
#include "runtime/plan/object_names.h"

#include <cerrno>

#include "base/clock.h"

namespace sonde {
namespace {

constexpr int64_t most_ns = 40'000'000; // the longest time of one drain
constexpr uint32_t clock_every = 64;    // records between two readings of the clock

} // namespace

Rings::~Rings() {
    ring_buffer__free(events_);
    ring_buffer__free(control_);
}

Result<void> Rings::open(Session& session) {
    session_ = &session;
    events_ = ring_buffer__new(session.data.kernel->map_fd(plan::maps::events), handle, this, nullptr);
    control_ = ring_buffer__new(session.data.kernel->map_fd(plan::maps::control), handle, this, nullptr);
    if (!events_ || !control_)
        return errno_error("cannot map the ring buffers", errno);
    if (!FlightRings::has(*session.data.kernel))
        return {};
    session.data.kept_records = &flight_.emplace();
    return flight_->open(session.plan, *session.data.kernel, [&session](std::span<const uint8_t> record) {
        session.handle_record(record.data(), record.size());
    });
}

// During the drain of events, handle() checks the clock at every 64th record. Control records are few, so they have no
// limit.
void Rings::drain() {
    if (!session_)
        return;
    session_->errors.counted_in_kernel = true;
    const bool flows = __atomic_load_n(&session_->data.words->state, __ATOMIC_RELAXED) == plan::Running;
    stop_at_ = flows ? now_ns() + most_ns : INT64_MAX;
    ring_buffer__consume(events_);
    stop_at_ = INT64_MAX;
    ring_buffer__consume(control_);
    session_->errors.counted_in_kernel = false;
}

int Rings::handle(void* opaque, void* record, size_t size) {
    auto& rings = *static_cast<Rings*>(opaque);
    rings.session_->handle_record(static_cast<const uint8_t*>(record), size);
    return ++rings.handled_ % clock_every == 0 && rings.stop_at_ != INT64_MAX && now_ns() > rings.stop_at_ ? -1 : 0;
}

} // namespace sonde
