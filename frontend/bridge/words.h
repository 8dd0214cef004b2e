// What the other languages' words are in ours: names without parentheses that stand for a value.
#pragma once

#include <string>
#include <string_view>

#include "frontend/bridge/bridge.h"
#include "frontend/bridge/point.h"

namespace sonde::bridge {

struct Word {
    std::string ours; // empty: there is none
    std::string gap;  // why
};

// pid, comm, retval, timestamp, arg0. `as_pointer`: what an argument holds is an address.
Word find_word(std::string_view name, Dialect dialect, const OurPoint& point, bool as_pointer);

// A member of `args`: the tracepoint's or the function's argument of that name.
std::string argument_named(std::string_view name, const OurPoint& point);

} // namespace sonde::bridge
