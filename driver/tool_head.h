// The comment that a tool begins with (stdlib/tools/NAME.stp): the one place that says what the tool does and which
// words it takes.
//
//   // What it does, in one line.
//   //
//   // More about it, in paragraphs.
//   //
//   // Target: by the script
//   // Stacks: whole
//   // Returns: on the stack
//   // Options:
//   //   -m, --min DURATION    least    only what took at least that long
//   // Arguments:
//   //   POINT                 which functions
//   //   [LIBRARY=libc]        whose functions
//   //   [HOW=count|hist]      one of these words
//   // Example:
//   //   sonde NAME -m 10ms
//
// An option names the script's global that it sets, as -G does; what the global is initialised with is the default.
// Arguments are the script's $1, @1 and so on; one in brackets may be left out, and is its default then. `Target: by
// the script` says that -c and -x do not restrict the handlers: the script asks target() itself, `Stacks: whole` that
// its arrays have stacks, with room for all addresses. `Returns: on the stack` means --attach=uretprobe, for results of
// functions that no exception passes and that end in jumps to others. All parts but the first line may be missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// What a word in capitals stands for.
enum class ToolValue : uint8_t {
    Flag,     // no word: sets 1
    Number,   // NUMBER: from 0 on
    Duration, // DURATION: a number with us, ms, s or m; microseconds in the script
    Seconds,  // SECONDS: whole ones, from 1 on
    Text,     // TEXT
    Point,    // POINT: a probe point, or a short form (driver/tool_point.h); only as an argument
    Calls,    // CALLS: names of system calls with commas between, or a pattern
    Library,  // LIBRARY, PROGRAM: the name of a library or a program, or a path; a path in the script
    Database, // DATABASE: the same, but `mysql` is its server `mysqld`, as `mysql` itself is only the client
};

struct ToolOption {
    char letter = 0;
    std::string name;        // after the --
    std::string placeholder; // "DURATION"; empty: a flag
    ToolValue type = ToolValue::Flag;
    std::string global;
    std::string help;
    std::string initial; // as the script writes it; empty: nothing to tell (0, "")
};

struct ToolArgument {
    std::string placeholder;
    ToolValue type = ToolValue::Text;
    bool optional = false;
    std::string initial;              // of an optional one
    std::vector<std::string> choices; // the words that it may be; empty: any
    std::string help;
};

struct ToolHead {
    std::string title;                            // without the period
    std::vector<std::string> paragraphs, example; // lines
    std::vector<ToolOption> options;
    std::vector<ToolArgument> arguments;
    bool chooses_target = false;           // Target: by the script
    bool keeps_stacks = false;             // Stacks: whole
    bool changes_return_addresses = false; // Returns: on the stack
};

// Heads are embedded, and tests read each of them: what does not fit the form is a bug, and is left out.
ToolHead read_tool_head(std::string_view script);

// What `sonde NAME --help` prints.
std::string describe_tool(const std::string& name, const ToolHead& head);

// "sonde NAME [options] POINT"
std::string tool_usage(const std::string& name, const ToolHead& head);

} // namespace sonde
