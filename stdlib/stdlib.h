// The tapset and the tools that are built into the binary: scripts in sonde's own language (stdlib/*.stp,
// stdlib/tools/*.stp).
#pragma once

#include <span>
#include <string_view>

namespace sonde {

struct StdlibFile {
    std::string_view name; // "prelude.stp"
    std::string_view text;
    // What it declares (frontend/lex/declarations.h), found when sonde was built.
    std::span<const std::string_view> functions, globals, aliases;
};

// All embedded files, sorted by name.
std::span<const StdlibFile> stdlib_files();

// A script that `sonde NAME` runs (stdlib/tools/NAME.stp); docs/adding.md says what its head means.
struct ToolFile {
    std::string_view name; // "opensnoop"
    std::string_view text;
};

// All of them, sorted by name.
std::span<const ToolFile> tool_files();

// docs/reference.md: the language on one page.
std::string_view reference_text();

} // namespace sonde
