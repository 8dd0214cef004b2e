// --format=json: what a session has to say, as one JSON object a line. docs/output.schema.json describes them.
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
class Symbols;

// Every function gives a line with its end. Text that is not UTF-8 has U+FFFD in place of what is not.
class JsonLines {
  public:
    JsonLines(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers)
        : plan_(plan), symbols_(symbols), numbers_(numbers) {}

    // What the clock was set by since the session began. Records have times without that.
    int64_t clock_correction_ns = 0;

    // The first line: which script and which probes.
    std::string start(int64_t realtime_ns) const;
    // A Print record: where, when, in which task, its values by name, and the text that it would be.
    std::string print(const plan::RecordHeader& header, std::span<const uint8_t> payload) const;
    // What has no more structure: {"type": TYPE, "text": TEXT}.
    std::string text(const char* type, std::string_view text) const;
    // A scalar, of its place in the data area, or an array with its elements. `time`: when that was, in nanoseconds
    // since 1970, if the session goes on; 0: its end.
    std::string scalar(const plan::Global& global, const char* payload, int64_t time = 0) const;
    std::string array(const plan::Global& global, const std::vector<ArrayElement>& elements, int64_t time = 0) const;
    // The last line.
    std::string end(const Accounting& accounting, int status, uint64_t errors, uint64_t skipped) const;

  private:
    const plan::Plan& plan_;
    Symbols& symbols_;
    const ProcessNumbers& numbers_;
};

// --format=csv: an array as a table with a heading (RFC 4180); a statistic has a column for each of its numbers. Stacks
// are the names of their functions, the outermost first, with `;` between them.
std::string csv_table(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers,
                      const plan::Global& global, const std::vector<ArrayElement>& elements);

} // namespace sonde
