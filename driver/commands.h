// The commands of sonde that are not tools: words that can be the first one of a command line.
#pragma once

namespace sonde {

struct Subcommand {
    const char *name, *arguments; // as in `sonde NAME ARGUMENTS`
    const char* help;             // in the completion
};
constexpr Subcommand subcommands[] = {
    {"record", "-o FILE [TOOL] [OPTIONS]", "run a tool or a script, and keep what it shows in a file"},
    {"replay", "FILE [OPTIONS]", "show a recording with other formats and pictures"},
    {"fmt", "[--check] [FILE...]", "format scripts"},
    {"lsp", "[OPTIONS]", "serve an editor (language server)"},
    {"mcp", "[--policy FILE]", "serve an agent (Model Context Protocol)"},
};

} // namespace sonde
