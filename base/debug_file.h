// The separate file with a program's debug information.
//
// It is looked for by build-id in the system's debug folder, then by the name and checksum in .gnu_debuglink, as GDB
// documents it ("Debugging Information in Separate Files"). A candidate counts only if it is for the very same build.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// True if the file itself has DWARF debug information.
bool has_dwarf(const ElfFile& file);

// Nothing if there is none.
std::optional<ElfFile> find_debug_file(const ElfFile& file);

// The running kernel's, lower-case hex, from /sys/kernel/notes. Errors: it is not there.
Result<std::string> running_kernel_build_id();

// Where distributions have the `vmlinux` with a kernel's debug information, the likeliest first.
std::vector<std::string> kernel_debug_paths(const std::string& release, const std::string& build_id);

} // namespace sonde
