// Reports the errors of handlers: with their place, the calls that led there, and what to do. It ends the session after
// more errors than MAXERRORS, and counts them only with --suppress-handler-errors.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

class Session;

// One object for each session. The session must outlive the object.
class ErrorReporter {
  public:
    explicit ErrorReporter(Session& session) : session_(session) {}

    // A record of an error.
    void report(const plan::RecordHeader& header, std::span<const uint8_t> payload);
    // From here to release() errors of host handlers wait. release() reports the first one, and more until there
    // are more than MAXERRORS.
    void hold() { holds_ = true; }
    void release();
    // At the end: adds a probe's errors to the losses if --suppress-handler-errors hid them. `in_kernel`: the number of
    // errors that the kernel has counted.
    void count_suppressed(const plan::Probe& probe, uint64_t in_kernel);

    // Set while records of the ring buffers are handled: the kernel has counted their errors.
    bool counted_in_kernel = false;

  private:
    struct Held {
        plan::ErrorMessage message;
        bool is_counted; // the kernel has counted the error already
    };
    void suppress(const plan::RecordHeader& header, const std::string& text);
    void fail(const Held& error);

    Session& session_;
    bool holds_ = false;
    std::vector<Held> held_;
    std::set<std::string_view> told_help_; // hints that were printed already
};

} // namespace sonde
