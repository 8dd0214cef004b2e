// How a map is printed: what bpftrace's print() and DTrace's printa() do, and both at the end of a session.
#pragma once

#include <string>
#include <vector>

#include "frontend/bridge/facts.h"

namespace sonde::bridge {

struct ShowOptions {
    std::string top;     // only so many; empty: all
    std::string divisor; // of values; empty: none
};

// Statements, one a line, indented by four blanks a level. `there`: the map's name in the other language.
std::vector<std::string> show_map(const std::string& there, const MapFacts& map, const ShowOptions& options = {});

} // namespace sonde::bridge
