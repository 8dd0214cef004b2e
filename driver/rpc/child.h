// A child process that runs sonde itself with other words. It ends by time, by the size of its output, or because
// somebody ends it, and always with the server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sonde::rpc {

using Clock = std::chrono::steady_clock;

// The reason why a child has ended.
enum class EndedBy : uint8_t {
    Exit,      // by itself
    Time,      // its seconds are over
    Output,    // it has printed too much
    Cancelled, // by cancel()
    Startup,   // it took too long until its session began
};

struct ChildSetting {
    std::vector<std::string> words; // without the program
    std::string input;              // of standard input
    uint64_t output_bytes = 0;      // of standard output that are kept or wait for take_lines(); more end the child
    // The time of a session from the moment when all probes are armed. Nothing: the child runs no session.
    std::optional<double> seconds;
    double startup_seconds = 120; // until that moment, or of a child without a session
};

struct Outcome {
    EndedBy ended_by = EndedBy::Exit;
    int status = 0;                           // the exit status, or 128 + the signal
    bool was_armed = false;                   // all probes were armed
    double armed_s = 0;                       // from then to the end
    double total_s = 0;                       // from the start of the process
    std::string output;                       // whole lines
    uint64_t output_bytes = 0, cut_bytes = 0; // of all output, and those that are missing in `output`
    std::string errors;                       // of standard error
    std::string report;                       // of --report
};

// The descriptors that a session inherits: of its report, and of the moment when all probes are armed.
constexpr int report_descriptor = 3, ready_descriptor = 4;

class Child {
  public:
    // The caller must have one thread only. Errors: no process can be created.
    static Result<Child> start(ChildSetting setting);
    Child(Child&& other) noexcept;
    Child& operator=(Child&&) = delete;
    ~Child(); // kills the process

    // The descriptors to wait for.
    std::vector<int> descriptors() const;
    // The next time at which advance() must be called even if no descriptor is ready.
    Clock::time_point wake_up() const;
    // Reads the available output, and ends the process if it is time. Returns false if the process has ended.
    bool advance();
    // Begins to end the process.
    void cancel() { stop(EndedBy::Cancelled); }
    bool is_armed() const { return armed_.has_value(); }
    double age() const;
    // Returns the whole lines of standard output that were not taken yet, also after the end. They are then not in the
    // outcome's `output`.
    std::string take_lines();
    // Standard error so far.
    const std::string& errors() const { return outcome_.errors; }
    // Call this once after advance() has returned false.
    Outcome finish();

  private:
    Child(ChildSetting setting, pid_t pid) : setting_(std::move(setting)), pid_(pid) {}
    void stop(EndedBy reason);
    void read_output();
    void read_errors();
    Clock::time_point deadline() const;

    ChildSetting setting_;
    pid_t pid_; // 0: it has been waited for
    Fd process_, output_, errors_, ready_, report_;
    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> armed_, kill_at_;
    Outcome outcome_;
};

} // namespace sonde::rpc
