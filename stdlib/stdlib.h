// The tapset that is built into the binary: scripts in sonde's own language (stdlib/*.stp).
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

} // namespace sonde
