// Messages about words of the command line that sonde does not accept.
#pragma once

#include <string>

namespace sonde {

// Returns the message about an unknown option. It suggests the nearest option.
std::string unknown_option(const std::string& word);

// Explains why the value of an option is not a target process; empty if it is one. `called` is the option as the user
// wrote it. 0 is not a process: a session without a target traces the whole machine.
std::string why_no_target(const std::string& called, const std::string& value);

} // namespace sonde
