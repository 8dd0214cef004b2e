// Policies: JSON files that limit what the clients of `sonde mcp` may do. docs/mcp.md describes the members.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/text/json.h"

namespace sonde {

using Patterns = std::vector<std::string>; // as for glob_match()

// Each default permits what is safe anyway, or sets a limit that suits a debugging session.
struct Policy {
    std::string origin; // the file, for messages; empty: the built-in defaults
    // Nothing: all are permitted.
    std::optional<Patterns> programs;  // paths of probed files, without symbolic links
    std::optional<Patterns> points;    // resolved probe points
    std::optional<Patterns> tools;     // names of tools
    std::vector<std::string> commands; // whole command lines that -c may run
    bool scripts = true;               // scripts of the client, not only tools
    // Probes outside of programs, which see all processes, and reads of the kernel's memory.
    bool kernel = true;
    double seconds = 60;            // the longest session
    uint64_t output_bytes = 65'536; // the most output of a session
    uint64_t elements = 100'000;    // the most elements of an array
    uint64_t sessions = 4;          // sessions that run at the same time
    double overload_percent = 75;   // as --overload
};
// All of them apply: each one must permit a thing, and the lowest limit counts. There is at least one.
using Policies = std::vector<Policy>;

// Reads a policy from JSON. Errors name `origin`, the member, and the expected value.
Result<Policy> parse_policy(const std::string& text, const std::string& origin);

// Returns the policies of this machine, /etc/sonde/mcp.json, and of this user: `file`, or if that is empty,
// $XDG_CONFIG_HOME/sonde/mcp.json (default ~/.config/sonde/mcp.json). A file that does not exist limits nothing, except
// for `file`. Errors: a file cannot be read, is not trusted, or is wrong.
Result<Policies> find_policies(const std::string& file);

// For the command line of a child process.
std::string to_text(const Policies& policies);
Result<Policies> read_policies(const std::string& text);

// Returns the lowest of the limits.
template <typename T> T lowest(const Policies& policies, T Policy::* limit) {
    T out = policies[0].*limit;
    for (const Policy& policy : policies)
        out = std::min(out, policy.*limit);
    return out;
}

} // namespace sonde
