// What is installed of a kernel that does not run here: its types, above all.
//
// A kernel's BTF lies in the section .BTF of its image, and a module's in that of its file. The image is a plain ELF
// file (`vmlinux`), or packed into what is booted (`vmlinuz`; Documentation/arch/x86/boot.rst).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde {

struct KernelFiles {
    std::string path;                           // the file with the types
    std::string release;                        // as `uname -r` shows it there; empty: the file does not say
    std::string build_id;                       // lower-case hex; empty: the file does not say
    std::string types;                          // BTF
    std::string root;                           // what the paths of its other files (/boot, /lib/modules) begin with
    std::map<std::string, std::string> modules; // name -> file, with BTF of its own

    // A module's BTF, which builds on `types`. Errors: there is no such module, or it has none.
    Result<std::string> module_types(const std::string& name) const;
    // Which build its file is of, lower-case hex. Errors as above.
    Result<std::string> module_build_id(const std::string& name) const;
    // Where its debug information can be, the likeliest first.
    std::vector<std::string> debug_paths() const;
};

// `given`: a kernel's release, or the path of an image, of a folder with a `vmlinux`, or of a file that is BTF and
// nothing else (as /sys/kernel/btf/vmlinux; other such files beside it are modules). Errors: where it was looked for,
// or what is wrong with the file.
Result<KernelFiles> find_kernel_files(const std::string& given);

} // namespace sonde
