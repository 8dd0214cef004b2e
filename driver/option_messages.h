// What is wrong with the words of a command line, in sonde's own words.
#pragma once

#include <string>

namespace sonde {

// CLI11's message, `text`, as sonde says it: without ERROR, without an end of line.
std::string explain_option_error(const std::string& text);

// What is wrong with the value of an option that names the target process, `called` as the user has written it; empty:
// nothing. 0 is not a process: a session without a target is about the whole machine.
std::string why_no_target(const std::string& called, const std::string& value);

} // namespace sonde
