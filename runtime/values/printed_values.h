// What a Print record says, value by value: text and JSON are made of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace sonde {

struct PrintedValue {
    const plan::Directive* directive = nullptr;
    int64_t width = -1, precision = -1; // as arguments gave them, if they did; else the directive's
    int64_t number = 0;                 // Integer, Char, Binary
    std::string text;                   // String; Memory: its bytes; Addresses
    std::vector<uint64_t> words;        // Histogram: StatsBlock and buckets; Stack: the addresses
    uint64_t process = 0, state = 0;    // Stack: a sonde_stack_state; Stack and Addresses: whose they are
};

// Calls `visit` with each directive's value, literals included, in order; the value is the callee's to take. A record
// that is too short gives what is there.
void read_values(const plan::Format& format, std::span<const uint8_t> payload,
                 const std::function<void(PrintedValue& value)>& visit);

} // namespace sonde
