// Decodes the values of a Print record. The text output and the JSON output both use them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

// One value of a record, with the directive that prints it. Which members are valid depends on the directive's kind.
struct PrintedValue {
    const plan::Directive* directive = nullptr;
    int64_t width = -1, precision = -1; // from the record if they are arguments, else the directive's
    int64_t number = 0;                 // Integer, Char, Binary
    std::string text;                   // String; Memory: its bytes; Addresses
    std::vector<uint64_t> words;        // Histogram: StatsBlock and buckets; Stack: the addresses
    uint64_t process = 0, state = 0;    // Stack: a sonde_stack_state; Stack and Addresses: the process
    uint64_t most = 0;                  // Stack: the largest number of addresses
};

// Calls `visit` for each directive in order, including literals. `visit` may move the contents out of the value. In a
// record that was cut, missing numbers are 0 and missing strings are empty.
void read_values(const plan::Format& format, std::span<const uint8_t> payload,
                 const std::function<void(PrintedValue& value)>& visit);

// Returns the time of the hit, which a session with a recorder adds to the values, in nanoseconds since 1970; 0 if the
// record has none.
int64_t printed_time(const plan::Format& format, std::span<const uint8_t> payload);

} // namespace sonde
