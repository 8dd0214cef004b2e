// Reads a recording for a script: its points with their values, then its events one by one.
//
// A recording has the records of a session, and a format in the plan describes the values of a record. It does not say
// which statements print at which point. So the file is read twice: once to find the points, and once for the script.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/recording/event_filter.h"
#include "runtime/values/recorded_events.h"

namespace sonde {

class EventReader final : public RecordedEvents {
  public:
    // Reads the whole file once. Errors: as for replay() (replay.h).
    static Result<std::unique_ptr<EventReader>> open(const std::string& file, const EventFilter& only);
    ~EventReader() override;

    // The object is valid as long as the reader.
    const plan::RecordedPoints& points() const { return points_; }

    const RecordedEvent* next() override;
    int64_t began_ns() const override;
    int64_t last_ns() const override;
    int64_t boot_ns() const override;
    std::unique_ptr<Symbolizer> take_symbols() override;
    void note_stack(const std::string& text, uint64_t process) override;
    bool say_end() override;

  private:
    class Pass;
    EventReader();
    Result<void> begin_pass(const EventFilter& only);

    plan::RecordedPoints points_;
    int64_t boot_ns_ = 0;
    std::unique_ptr<Pass> pass_;
};

// Whether a filter accepts a printed record.
bool is_accepted(const plan::Format& format, std::span<const uint8_t> payload, const SessionFilter& filter);

} // namespace sonde
