// Translates names without parentheses that stand for a value, such as `pid`.
#pragma once

#include <string>
#include <string_view>

#include "frontend/bridge/bridged.h"
#include "frontend/bridge/point.h"

namespace sonde::bridge {

struct Word {
    std::string ours; // empty without a counterpart
    std::string gap;  // the reason
};

// pid, comm, retval, timestamp, arg0. `as_pointer`: an argument is used as an address.
Word find_word(std::string_view name, Dialect dialect, const OurPoint& point, bool as_pointer);

// A member of `args`: the argument of the tracepoint or function with this name.
std::string argument_named(std::string_view name, const OurPoint& point);

} // namespace sonde::bridge
