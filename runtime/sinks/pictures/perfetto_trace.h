// Writes a timeline as a trace for Perfetto (ui.perfetto.dev, trace_processor).
//
// The file is written during the session, and each packet is complete. So a session that is killed still leaves a valid
// trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "runtime/sinks/pictures/timeline_file.h"

namespace sonde {

class ProtobufMessage;

class PerfettoTrace : public TimelineFile {
  public:
    // `file` is the name of `fd`, for error messages.
    PerfettoTrace(std::string file, Fd fd);

    void session(uint64_t track, const std::string& name) override;
    void process(uint64_t track, int64_t pid, const std::string& name) override;
    void thread(uint64_t track, uint64_t process, int64_t pid, int64_t tid, const std::string& name) override;
    void counter(uint64_t track, const std::string& name) override;
    void begin(uint64_t track, int64_t time, std::string_view name) override;
    void end(uint64_t track, int64_t time, std::string_view note) override;
    void moment(uint64_t track, int64_t time, const Moment& moment) override;
    void value(uint64_t track, int64_t time, int64_t value) override;
    void write() override;
    Result<void> finish(int64_t time) override;

  private:
    void clocks();
    // Write packets: the declaration of a track, an event, or any packet.
    void descriptor(const ProtobufMessage& track);
    void event(int64_t time, const ProtobufMessage& event);
    void packet(ProtobufMessage& packet);

    std::string file_;
    Fd fd_;
    Result<void> written_;
    std::string buffer_;
    int64_t to_boot_; // added to a time since 1970, gives the time since boot that traces use
};

} // namespace sonde
