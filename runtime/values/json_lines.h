// --format=json: a session's output as JSON objects, one on each line. docs/output.schema.json describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/text/accounting.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbolizer;

// Each function returns one line with its newline. In strings, U+FFFD replaces bytes that are not valid UTF-8.
class JsonLines {
  public:
    JsonLines(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers)
        : plan_(plan), symbols_(symbols), numbers_(numbers) {}

    // The sum of all changes of the system clock since the session began. Records are stamped without them, so this
    // value is added to their times.
    int64_t clock_correction_ns = 0;

    // The first line: the script and its probes. `realtime_ns` is in nanoseconds since 1970.
    std::string start(int64_t realtime_ns) const;
    // A Print record: probe, time, task, the values by name, and the text.
    std::string print(const plan::RecordHeader& header, std::span<const uint8_t> payload) const;
    // A line without further structure: {"type": TYPE, "text": TEXT}.
    std::string text(const char* type, std::string_view text) const;
    // A scalar (`payload` is its memory in the data area), or an array with its elements. `time` is in nanoseconds
    // since 1970 for values during the session, and 0 for those at its end.
    std::string scalar(const plan::Global& global, const char* payload, int64_t time = 0) const;
    std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements, int64_t time = 0) const;
    // The last line: status, errors and losses.
    std::string end(const Accounting& accounting, int status, uint64_t errors, uint64_t skipped) const;

  private:
    const plan::Plan& plan_;
    Symbolizer& symbols_;
    const ProcessNumbers& numbers_;
};

} // namespace sonde
