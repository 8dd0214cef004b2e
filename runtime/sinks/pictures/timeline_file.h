// What a timeline is written to: a trace for Perfetto, or a picture.
//
// Tracks are numbered by the timeline, from 1. A track is told before its first event, and again when its name changes.
// Times are nanoseconds since 1970; those of a track never go back.
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
        std::string_view text; // what is printed, or what is to be said of a hit
        bool is_printed = false;
    };
    virtual ~TimelineFile() = default;

    // The session's own handlers, which are about no thread.
    virtual void session(uint64_t track, const std::string& name) = 0;
    virtual void process(uint64_t track, int64_t pid, const std::string& name) = 0;
    virtual void thread(uint64_t track, uint64_t process, int64_t pid, int64_t tid, const std::string& name) = 0;
    virtual void counter(uint64_t track, const std::string& name) = 0;

    // Calls of a track nest: end() is that of the innermost one. `note`: why it ends, where no return was seen.
    virtual void begin(uint64_t track, int64_t time, std::string_view name) = 0;
    virtual void end(uint64_t track, int64_t time, std::string_view note) = 0;
    virtual void moment(uint64_t track, int64_t time, const Moment& moment) = 0;
    virtual void value(uint64_t track, int64_t time, int64_t value) = 0;

    // Once a second: what should be in the file by now, if it is one that is written while the session runs.
    virtual void write() = 0;
    // Nothing comes after it. `time`: the session's end. Errors: the file could not be written.
    virtual Result<void> finish(int64_t time) = 0;
};

} // namespace sonde
