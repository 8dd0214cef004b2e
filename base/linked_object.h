// An object file as if it had been linked: the kernel's modules are object files, and so is their debug information.
//
// Sections get addresses, one after the other, and debug information is made to refer to them (ELF, chapter 4,
// "Relocation"; the types are x86-64's, psABI 4.4.1). The kernel gives each section a place of its own when it loads a
// module, so an address here says which section and how far in it, no more. Everything else that reads programs can
// then read modules.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// A file in memory. Code and data in it are not relocated, only what describes them. Errors: the file cannot be
// read, is cut off, is no object file of this machine, or has debug information that is compressed or referred to in a
// way that is not known here.
Result<Fd> link_object(const std::string& path);

} // namespace sonde
