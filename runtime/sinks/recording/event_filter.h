// Which events of a recording a replay shows (--since, --until, --pid, --tid, --execname).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sonde {

// A time in a recording.
struct PointInTime {
    enum Kind : uint8_t {
        SinceBegin, // nanoseconds since the session's begin
        OfDay,      // nanoseconds since midnight (local time) of the day on which the session began
        Absolute,   // nanoseconds since 1970
    } kind = SinceBegin;
    int64_t ns = 0;

    // Returns nanoseconds since 1970. A time of day before the session's begin means the next day.
    int64_t in_session(int64_t began_ns) const;
};
// Reads `12.5`, `12:30`, `12:30:05.25` or `2026-11-30 12:30:05` (also with a `T`). Nothing if the text is wrong.
std::optional<PointInTime> read_point_in_time(const std::string& text);

struct EventFilter {
    std::optional<PointInTime> since, until;
    std::optional<int64_t> pid, tid;
    std::string execname; // a pattern for glob_match(); empty: any task

    bool is_empty() const { return !since && !until && !needs_task(); }
    bool needs_task() const { return pid || tid || !execname.empty(); }
};

// The task of a printed record; events of the session itself have none.
struct EventTask {
    int64_t pid = 0, tid = 0;
    std::string_view name;
};
// A filter for one recording.
class SessionFilter {
  public:
    SessionFilter() = default;
    SessionFilter(const EventFilter& filter, int64_t began_ns);
    // `task` is null for events of the session itself.
    bool accepts(int64_t time_ns, const EventTask* task) const;

  private:
    EventFilter filter_;
    int64_t since_ns_ = INT64_MIN, until_ns_ = INT64_MAX;
};

} // namespace sonde
