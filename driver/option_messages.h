// Messages about words of the command line that sonde does not accept.
#pragma once

#include <string>

namespace sonde {

// The message about an unknown option, with the nearest one.
std::string unknown_option(const std::string& word);

// Why the value of an option is not a target process; empty: it is one. `called`: the option as the user wrote it. 0 is
// not a process: a session without a target traces the whole machine.
std::string why_no_target(const std::string& called, const std::string& value);

} // namespace sonde
