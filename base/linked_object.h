// Opens an object file as if it had been linked. Kernel modules are object files, and so is their debug information.
//
// Sections get consecutive addresses, and relocations make the debug information refer to these (ELF, chapter 4,
// "Relocation"; for the types see the x86-64 psABI, 4.4.1). When the kernel loads a module, it chooses other addresses
// for each section. So an address here only identifies a section and an offset in it. Everything that reads programs
// can then read modules, too.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Returns a file in memory. Code and data in it are not relocated; debug information is. Errors: the file is
// unreadable, truncated, or not an object file of this machine, or its debug information is compressed or has unknown
// relocations.
Result<Fd> link_object(const std::string& path);

} // namespace sonde
