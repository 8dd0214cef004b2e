// Ready tools: `sonde opensnoop -f` runs the script stdlib/tools/opensnoop.stp with what its options say. `sonde tools`
// lists them.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sonde {

// The script of a tool; empty if there is none of that name.
std::string_view find_tool(std::string_view name);

// Whether that tool's script asks for target() itself, so that -c and -x do not restrict its handlers.
bool tool_chooses_target(std::string_view name);

// Whether that tool's script keeps stacks in its arrays, which are to be whole.
bool tool_keeps_stacks(std::string_view name);
// Whether results are read that only a changed return address gives.
bool tool_changes_return_addresses(std::string_view name);

// The words of sonde's own command line that do what `words` ask for, when the first of them names a tool and there is
// no file of that name in the working folder; any others unchanged. Or the exit status, when that is all there is to do
// (--help, --source, `tools`) or when they cannot be understood, which is said on standard error.
std::variant<std::vector<std::string>, int> expand_tool(const std::vector<std::string>& words);

// Whether one of sonde's own options means something to a tool, which is a script already.
bool is_option_of_tools(std::string_view name);

} // namespace sonde
