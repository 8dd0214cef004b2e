// The commands of sonde that are not tools: words that can be the first one of a command line.
#pragma once

namespace sonde {

struct Subcommand {
    const char *name, *arguments; // as in `sonde NAME ARGUMENTS`
    const char* help;             // in the completion
    const char* about;            // sentences for `sonde help NAME`
};
constexpr Subcommand subcommands[] = {
    {"record", "-o FILE [TOOL] [OPTIONS]", "run a tool or a script, and keep what it shows in a file",
     "Runs a tool or a script, and keeps its events in FILE instead of printing them. `sonde replay FILE` shows them.\n"
     "  With --flight=30s, keeps only the last 30 seconds, in memory, until something happens: dump(\"why\")\n"
     "  in a handler, --dump-when EXPRESSION, `sonde dump NAME`, SIGUSR1, or a crash."},
    {"replay", "FILE [OPTIONS] [SCRIPT]", "show a recording in other ways, or run a script over it",
     "Shows a recording. OPTIONS are --format, -o, --live and pictures, such as --flame FILE.svg; --since, --until,\n"
     "  --pid, --tid and --execname select events. With -e 'probe record(\"NAME\") { ... }' or the file of a script,\n"
     "  runs the script over the events. -L 'record(\"*\")' lists the points with their values."},
    {"dump", "NAME [REASON]", "let a flight recorder write a recording",
     "Lets the flight recorder of the session that was started with `-m NAME` write a recording, and prints its name."},
    {"repl", "[OPTIONS] [-x PID | -c COMMAND | PROGRAM]", "talk to a session: add and remove probes while it runs",
     "Begins a session with a prompt, where you add and remove probes while the program runs.\n"
     "  `sonde repl --help` has more."},
    {"fmt", "[--check] [FILE...]", "format scripts", "Formats scripts in place. `sonde fmt --help` has more."},
    {"lsp", "[OPTIONS]", "serve an editor (language server)", "Serves an editor. `sonde lsp --help` has more."},
    {"mcp", "[--policy FILE]", "serve an agent (Model Context Protocol)",
     "Serves an agent that debugs. `sonde mcp --help` has more."},
};

} // namespace sonde
