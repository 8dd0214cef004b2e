// The tapset that is built into the binary: scripts in sonde's own language (stdlib/*.stp).
#pragma once

#include <span>
#include <string_view>

namespace sonde {

struct StdlibFile {
    std::string_view name; // "prelude.stp"
    std::string_view text;
};

// All embedded files, sorted by name.
std::span<const StdlibFile> stdlib_files();

} // namespace sonde
