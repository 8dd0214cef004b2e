// Finds the files of a kernel that is installed but need not be running, above all its types.
//
// A kernel's BTF is in the section .BTF of its image, and a module's BTF in the module's file. The image is an ELF file
// (`vmlinux`), or the bootable file contains it (`vmlinuz`).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

// An installed kernel and its modules.
struct KernelFiles {
    std::string path;                           // the file with the types
    std::string release;                        // as printed by `uname -r`; empty if unknown
    std::string build_id;                       // lower-case hexadecimal; empty if unknown
    std::string types;                          // BTF
    std::string root;                           // prefix of the paths of its other files (/boot, /lib/modules)
    std::map<std::string, std::string> modules; // name -> file with the module's BTF
    std::string why_no_types;                   // why `types` is empty, if there is a reason

    // A kernel without types: nobody has named it, or its image is not readable.
    bool is_unknown() const { return types.empty(); }
    // A module's BTF, which extends `types`. Errors: the module does not exist, or has no BTF.
    Result<std::string> module_types(const std::string& name) const;
    // The build-id of a module, lower-case hexadecimal. Errors: as above.
    Result<std::string> module_build_id(const std::string& name) const;
    // Paths where its debug information can be, most likely ones first.
    std::vector<std::string> debug_paths() const;
};

// Finds a kernel. `given` is one of:
// * a kernel's release
// * the path of an image, or of a folder with a `vmlinux`
// * the path of a file that consists of BTF, like /sys/kernel/btf/vmlinux; other such files in its folder are modules
//
// Errors: the places that were searched, or the problem with the file.
Result<KernelFiles> find_kernel_files(const std::string& given);

// The releases of all kernels that have an image in /boot or modules in /lib/modules, sorted.
std::vector<std::string> installed_kernels();

} // namespace sonde
