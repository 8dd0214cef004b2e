// The separate file with a program's debug information.
//
// It is looked for by build-id, then by the name and checksum in .gnu_debuglink, as GDB documents it ("Debugging
// Information in Separate Files"), at last on the servers of DEBUGINFOD_URLS. A candidate counts only if it is for the
// very same build. Folders are those of SYSTEMTAP_DEBUGINFO_PATH as stap(1) describes it: names with `:` between them,
// relative ones beside the program, others holding the whole tree; without it `:.debug:/usr/lib/debug`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// True if the file itself has DWARF debug information.
bool has_dwarf(const ElfFile& file);

struct DebugSearch {
    bool may_download = false;
    // What was met and does not count, in words: files of other builds, what a server said. May be null.
    std::vector<std::string>* problems = nullptr;
};

// Nothing if there is none.
std::optional<ElfFile> find_debug_file(const ElfFile& file, const DebugSearch& search = {});

// The common part of several files' debug information that dwz(1) has put into a file of its own (.gnu_debugaltlink);
// nothing if `file` refers to none or it is not there.
std::optional<ElfFile> find_common_file(const ElfFile& file, const DebugSearch& search = {});

// The file that `file` names for it, whatever that is; nothing if it cannot be opened.
std::optional<ElfFile> open_named_common_file(const ElfFile& file);

// The symbols that a stripped file carries along (.gnu_debugdata, an ELF file compressed by xz); nothing if it has
// none. A size that is refused goes into `search.problems`.
std::optional<ElfFile> open_packed_symbols(const ElfFile& file, const DebugSearch& search = {});

// The running kernel's, lower-case hex, from /sys/kernel/notes. Errors: it is not there.
Result<std::string> running_kernel_build_id();

// The same for one of its modules, from /sys/module. Errors: it is not loaded.
Result<std::string> running_module_build_id(const std::string& module);

// Where distributions have the `vmlinux` with a kernel's debug information, the likeliest first.
std::vector<std::string> kernel_debug_paths(const std::string& release, const std::string& build_id);

// The files with a module's debug information below `root` (empty: /), the likeliest first.
std::vector<std::string> find_module_debug_files(const std::string& root, const std::string& release,
                                                 const std::string& module, const std::string& build_id);

} // namespace sonde
