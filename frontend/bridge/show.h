// Prints a map like bpftrace's print() and DTrace's printa(), and like both at the end of a session.
#pragma once

#include <string>
#include <vector>

#include "frontend/bridge/facts.h"

namespace sonde::bridge {

struct ShowOptions {
    std::string top;     // number of elements; empty: all
    std::string divisor; // of values; empty: none
};

// Statements, one in each line, indented by four blanks per level. `there`: the map's original name.
std::vector<std::string> show_map(const std::string& there, const MapFacts& map, const ShowOptions& options = {});

} // namespace sonde::bridge
