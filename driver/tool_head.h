// The comment at the beginning of a tool (stdlib/tools/NAME.stp). It is the only place that describes the tool and its
// command line:
//
//   // A description in one line.
//   //
//   // More paragraphs.
//   //
//   // Target: by the script
//   // Stacks: whole
//   // Returns: on the stack
//   // Cost: reported at the end
//   // Options:
//   //   -m, --min DURATION    least    minimum duration
//   // Arguments:
//   //   POINT                 the functions
//   //   [LIBRARY=libc]        the library of these functions
//   //   [HOW=count|hist]      one of these words
//   // Example:
//   //   sonde NAME -m 10ms
//
// All parts except the first line are optional.
//
// * An option names the script's global that it sets, like -G. The initial value of this global is the option's
//   default. An option with `$3` in place of a global is the script's argument $3, and its default follows the
//   placeholder: `--if CONDITION=1`. The text of a flag follows the argument: `$5=.return`. If this text is an option
//   of sonde, the flag also passes this option: `$6=--format=json`.
// * Arguments are the script's $1, @1 and so on. One in brackets is optional and shows its default.
// * `Target: by the script`: -c and -x do not restrict the handlers, because the script calls target() itself.
// * `Stacks: whole`: the script's arrays contain stacks, which need room for all addresses.
// * `Returns: on the stack`: use --attach=uretprobe. The tool reads results of functions that end by a jump to another
//   function, and no exception passes through them.
// * `Cost: reported at the end`: use --cost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The type of a placeholder.
enum class ToolValue : uint8_t {
    Flag,      // no value: sets 1
    Number,    // NUMBER: from 0 on
    Duration,  // DURATION: a number with us, ms, s or m; microseconds in the script
    Seconds,   // SECONDS: whole ones, from 1 on
    Text,      // TEXT
    Point,     // POINT: a probe point, or a short form (driver/tool_point.h); only as an argument
    Calls,     // CALLS: names of system calls, separated by commas, or a pattern
    Library,   // LIBRARY, PROGRAM: the name of a library or a program, or a path; a path in the script
    Database,  // DATABASE: the same, but `mysql` means the server `mysqld`, not the client
    Place,     // PLACE: FILE:LINE or a function (driver/log_place.h), in the PROGRAM that is the tool's last argument
    Format,    // FORMAT: a text with expressions in braces (frontend/bridge/log_text.h)
    Variables, // VARIABLES: expressions with commas between them, or `all` variables of the PLACE; statements in the
               // script
    Condition, // CONDITION: an expression (frontend/bridge/log_text.h)
    Process,   // PID: a process, as -p; only as an argument, and not one of the script
};

struct ToolOption {
    char letter = 0;
    std::string name;        // after the --
    std::string placeholder; // "DURATION"; empty: a flag
    ToolValue type = ToolValue::Flag;
    std::string global;
    std::string help;
    std::string initial; // as the script writes it, or as a word of the command line; empty for 0 and ""
    std::string given;   // of a flag that sets an argument: its text

    bool sets_argument() const { return global.starts_with('$'); }
};

struct ToolArgument {
    std::string placeholder;
    ToolValue type = ToolValue::Text;
    bool optional = false;
    std::string initial;              // only of an optional argument
    std::vector<std::string> choices; // the accepted words; empty: any
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
    bool tells_cost = false;               // Cost: reported at the end
};

// Reads the comment. The tools are part of sonde, and tests read all of them, so a line in the wrong form is a bug of
// the tool. It is skipped.
ToolHead read_tool_head(std::string_view script);

// Returns the text of `sonde NAME --help`.
std::string describe_tool(const std::string& name, const ToolHead& head);

// "sonde NAME [options] POINT"
std::string tool_usage(const std::string& name, const ToolHead& head);

} // namespace sonde
