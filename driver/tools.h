// Tools: `sonde opensnoop -f` runs the script stdlib/tools/opensnoop.stp with these options. `sonde tools` lists the
// tools.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sonde {

// Returns the script of a tool; empty if the tool does not exist.
std::string_view find_tool(std::string_view name);

// Returns whether the tool's script calls target() itself, so that -c and -x do not restrict its handlers.
bool tool_chooses_target(std::string_view name);

// Returns whether the tool's script has arrays with stacks, which must be whole.
bool tool_keeps_stacks(std::string_view name);
// Returns whether the tool needs results of functions that only a changed return address provides.
bool tool_changes_return_addresses(std::string_view name);
bool tool_tells_cost(std::string_view name);

// Translates the words of a tool to the words of sonde's own command line. The first word must name a tool, and no file
// with this name may exist in the current directory; other words are returned unchanged. Returns an exit status instead
// if nothing remains to be done (--help, --source, `tools`) or if the words are wrong. In the latter case it prints an
// error message.
std::variant<std::vector<std::string>, int> expand_tool(const std::vector<std::string>& words);

// Returns whether one of sonde's own options has a meaning for a tool, which is a script already.
bool is_option_of_tools(std::string_view name);

} // namespace sonde
