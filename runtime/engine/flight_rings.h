// Reads the flight recorder's rings, which handlers write (runtime/plan/flight_rings.h, codegen/rtlib/keep.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/load/load.h"
#include "runtime/plan/flight_rings.h"
#include "runtime/values/kept_records.h"

namespace sonde {

// A record in a copy of a ring.
struct KeptRecord {
    int64_t time; // nanoseconds since 1970, on the clock of records; 0 in a copy: it is among the values
    uint64_t position;
    uint32_t piece; // as in struct sonde_flight_record
    std::span<const uint8_t> bytes;
};

// A copy of one ring's chunks, and the state that belongs to it.
struct FlightCopy {
    sonde_flight_ring before, after; // when the copy began and ended
    std::vector<uint8_t> chunks;
};
// What a copy has.
struct FlightContents {
    std::vector<KeptRecord> records; // the newest first
    uint64_t damaged = 0;            // records that a late writer has overwritten in part
    uint64_t unfinished = 0;         // records that were never completed
};
// Finds the records of a copy. Bytes that are not a whole record are never returned as one: the position in front of a
// record must be its own.
FlightContents read_copy(const FlightCopy& copy);

// All rings of a session.
class FlightRings final : public KeptRecords {
  public:
    // Handles a record: its header (plan::RecordHeader), then its payload.
    using Handle = std::function<void(std::span<const uint8_t>)>;

    // Whether the handlers of this object write to such rings.
    static bool has(const KernelObject& kernel);
    FlightRings() = default;
    ~FlightRings() override;
    FlightRings(const FlightRings&) = delete;
    FlightRings& operator=(const FlightRings&) = delete;

    // Divides the chunks among the processors that are on. Call it before handlers run. `plan` must outlive this.
    Result<void> open(const plan::Plan& plan, const KernelObject& kernel, Handle handle);

    Counts read(int64_t since, int64_t until) override;
    void pass(const std::function<void(int64_t time)>& before) override;
    void settle() override;
    void watch() override;
    uint64_t bytes() const override { return rings_.size() * ring_bytes(); }
    uint64_t rings() const override { return rings_.size(); }

  private:
    struct Ring {
        uint64_t processor;
        uint64_t written = 0;   // complete records since the session's begin
        uint64_t accounted = 0; // of these, the ones before the last dump: in a recording, or overwritten
        FlightCopy copy;
    };
    uint64_t ring_bytes() const { return (mask_ + 1) * SONDE_FLIGHT_CHUNK; }
    sonde_flight_ring& state(const Ring& ring) const;
    void note_written(Ring& ring, const sonde_flight_ring& state) const;
    void copy_ring(Ring& ring) const;

    const plan::Plan* plan_ = nullptr;
    Handle handle_;
    uint64_t mask_ = 0; // chunks of a ring, minus 1
    uint64_t state_bytes_ = 0, possible_ = 0;
    uint8_t* states_ = nullptr;
    uint8_t* chunks_ = nullptr;
    uint64_t mapped_chunks_ = 0; // bytes
    std::vector<Ring> rings_;
    std::vector<KeptRecord> found_; // of the last read(), in the order of their times
    int64_t last_dump_ = INT64_MIN; // the time up to which records are in a recording
    int64_t read_until_ = INT64_MIN;
    std::vector<std::pair<Ring*, uint64_t>> settled_; // Ring::accounted after the last read()
};

} // namespace sonde
