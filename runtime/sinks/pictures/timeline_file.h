// The interface of timeline formats: a trace for Perfetto, or a picture.
//
// The timeline numbers its tracks from 1. It declares a track before the track's first event, and again if its name
// changes. Times are nanoseconds since 1970, and never decrease within a track.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

class TimelineFile {
  public:
    struct Moment {
        std::string_view name; // one short line
        std::string_view text; // the printed text, or details of a hit
        bool is_printed = false;
    };
    virtual ~TimelineFile() = default;

    // Declares tracks. session() is for handlers that do not belong to a thread.
    virtual void session(uint64_t track, const std::string& name) = 0;
    virtual void process(uint64_t track, int64_t pid, const std::string& name) = 0;
    virtual void thread(uint64_t track, uint64_t process, int64_t pid, int64_t tid, const std::string& name) = 0;
    virtual void counter(uint64_t track, const std::string& name) = 0;

    // The calls of a track nest: end() ends the innermost one. `note`: why the call ends, if its return was not seen.
    virtual void begin(uint64_t track, int64_t time, std::string_view name) = 0;
    virtual void end(uint64_t track, int64_t time, std::string_view note) = 0;
    virtual void moment(uint64_t track, int64_t time, const Moment& moment) = 0;
    virtual void value(uint64_t track, int64_t time, int64_t value) = 0;

    // Called once a second. Formats that are written during the session write their buffers.
    virtual void write() = 0;
    // Writes the rest at the session's end, `time`. Nothing else is called afterward. Fails if the file could not be
    // written.
    virtual Result<void> finish(int64_t time) = 0;
};

} // namespace sonde
