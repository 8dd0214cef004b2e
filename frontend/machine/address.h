// Addresses in a program or library.
#pragma once

#include <cstdint>

namespace sonde {

// An ELF virtual address as linked, before relocation.
using Address = uint64_t;

} // namespace sonde
