// The messages that a child process with a session has written to standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::rpc {

// Lines without their ends.
std::vector<std::string> lines_of(const std::string& text);
// A message goes on with indented lines, notes and helps.
std::vector<std::string> messages_of(const std::string& errors);
// Whether a message is the line of --cost.
bool is_cost(std::string_view message);

} // namespace sonde::rpc
