#include "runtime/sinks/recording/event_filter.h"

#include <charconv>
#include <cmath>
#include <ctime>
#include <system_error>

#include "base/glob.h"

namespace sonde {
namespace {

constexpr int64_t second_ns = 1'000'000'000;

// Returns the midnight before a time, in seconds since 1970.
time_t midnight_before(int64_t time_ns) {
    const auto seconds = static_cast<time_t>(time_ns / second_ns);
    tm local{};
    localtime_r(&seconds, &local);
    local.tm_hour = local.tm_min = local.tm_sec = 0;
    local.tm_isdst = -1;
    return mktime(&local);
}

// Reads "12:30" or "12:30:05.25". Returns nanoseconds since midnight.
std::optional<int64_t> read_time_of_day(std::string_view text) {
    const size_t colon = text.find(':');
    int hours = -1, minutes = -1;
    double seconds = 0;
    if (colon == std::string_view::npos || text.size() < colon + 3)
        return std::nullopt;
    const auto whole = [](std::string_view digits, auto& out) {
        const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
        return wrong == std::errc() && end == digits.data() + digits.size() && !digits.empty();
    };
    if (!whole(text.substr(0, colon), hours) || !whole(text.substr(colon + 1, 2), minutes))
        return std::nullopt;
    const std::string_view rest = text.substr(colon + 3);
    if (!rest.empty() && (rest[0] != ':' || !whole(rest.substr(1), seconds)))
        return std::nullopt;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !(seconds >= 0 && seconds < 61))
        return std::nullopt;
    return (hours * 3600ll + minutes * 60ll) * second_ns + std::llround(seconds * static_cast<double>(second_ns));
}

std::optional<int64_t> read_date_and_time(const std::string& text) {
    constexpr size_t date_size = 10; // 2026-11-30
    if (text.size() <= date_size + 1 || (text[date_size] != ' ' && text[date_size] != 'T'))
        return std::nullopt;
    tm day{};
    const std::string date = text.substr(0, date_size);
    if (const char* end = strptime(date.c_str(), "%Y-%m-%d", &day); !end || *end)
        return std::nullopt;
    const std::optional<int64_t> time = read_time_of_day(std::string_view(text).substr(date_size + 1));
    if (!time)
        return std::nullopt;
    day.tm_hour = static_cast<int>(*time / (3600 * second_ns));
    day.tm_min = static_cast<int>(*time / (60 * second_ns) % 60);
    day.tm_isdst = -1;
    const time_t minute = mktime(&day);
    return minute == -1 ? std::nullopt : std::optional(minute * second_ns + *time % (60 * second_ns));
}

} // namespace

int64_t PointInTime::in_session(int64_t began_ns) const {
    switch (kind) {
    case Absolute:
        return ns;
    case SinceBegin:
        return began_ns > INT64_MAX - ns ? INT64_MAX : began_ns + ns;
    case OfDay:
        break;
    }
    const int64_t on_first_day = midnight_before(began_ns) * second_ns + ns;
    constexpr int64_t day_ns = 86400 * second_ns;
    // `12:30:05` is often copied from output that has no fractions.
    return on_first_day + second_ns <= began_ns ? on_first_day + day_ns : on_first_day;
}

std::optional<PointInTime> read_point_in_time(const std::string& text) {
    constexpr double most_s = 1e9;
    double seconds = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (wrong == std::errc() && end == text.data() + text.size()) {
        if (!(seconds >= 0 && seconds <= most_s))
            return std::nullopt;
        return PointInTime{PointInTime::SinceBegin, std::llround(seconds * static_cast<double>(second_ns))};
    }
    if (const std::optional<int64_t> time = read_time_of_day(text))
        return PointInTime{PointInTime::OfDay, *time};
    if (const std::optional<int64_t> time = read_date_and_time(text))
        return PointInTime{PointInTime::Absolute, *time};
    return std::nullopt;
}

SessionFilter::SessionFilter(const EventFilter& filter, int64_t began_ns) : filter_(filter) {
    if (filter.since)
        since_ns_ = filter.since->in_session(began_ns);
    if (filter.until)
        until_ns_ = filter.until->in_session(began_ns);
}

bool SessionFilter::accepts(int64_t time_ns, const EventTask* task) const {
    if (time_ns < since_ns_ || time_ns >= until_ns_)
        return false;
    if (!filter_.needs_task())
        return true;
    return task && (!filter_.pid || *filter_.pid == task->pid) && (!filter_.tid || *filter_.tid == task->tid) &&
           (filter_.execname.empty() || glob_match(filter_.execname, task->name));
}

} // namespace sonde
