// Finds the separate file with a program's debug information.
//
// The search order is: the build-id; the name and checksum in .gnu_debuglink, as GDB documents it ("Debugging
// Information in Separate Files"); the servers of DEBUGINFOD_URLS. A file is accepted only if it belongs to the same
// build. The folders are those of SYSTEMTAP_DEBUGINFO_PATH, as in stap(1): names separated by `:`. Relative names are
// next to the program, absolute ones contain a whole tree. The default is `:.debug:/usr/lib/debug`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// Whether the file itself contains DWARF debug information.
bool has_dwarf(const ElfFile& file);

// How to search, and where to report problems.
struct DebugSearch {
    bool may_download = false;
    // Receives descriptions of rejected files, for example of other builds, and of servers' errors. May be null.
    std::vector<std::string>* problems = nullptr;
};

// The program's debug file; nullopt if it is not found.
std::optional<ElfFile> find_debug_file(const ElfFile& file, const DebugSearch& search = {});

// Existing packages of split debug information (`NAME.dwp`): beside the file, and in the folders for debug files.
// Whether a package belongs to the same build is not checked: it has an id for each unit.
std::vector<std::string> find_split_packages(const ElfFile& file);

// The file with debug information that dwz(1) has moved from several files (.gnu_debugaltlink). nullopt if `file` does
// not refer to one, or it is not found.
std::optional<ElfFile> find_common_file(const ElfFile& file, const DebugSearch& search = {});

// The file that `file` names for this purpose, without any check. nullopt if it cannot be opened.
std::optional<ElfFile> open_named_common_file(const ElfFile& file);

// The symbols that a stripped file contains in compressed form (.gnu_debugdata, an ELF file compressed by xz). nullopt
// if it has none. If they are too large, this is reported to `search.problems`.
std::optional<ElfFile> open_packed_symbols(const ElfFile& file, const DebugSearch& search = {});

// The running kernel's build-id in lower-case hexadecimal, from /sys/kernel/notes. Errors: the kernel has none.
Result<std::string> running_kernel_build_id();

// The build-id of a loaded module, from /sys/module. Errors: the module is not loaded.
Result<std::string> running_module_build_id(const std::string& module);

// Paths where distributions install the `vmlinux` with a kernel's debug information, most likely ones first.
std::vector<std::string> kernel_debug_paths(const std::string& release, const std::string& build_id);

// Files with a module's debug information below `root` (empty: /), most likely ones first.
std::vector<std::string> find_module_debug_files(const std::string& root, const std::string& release,
                                                 const std::string& module, const std::string& build_id);

} // namespace sonde
