// Opens an object file as if it had been linked. Kernel modules are object files, and so is their debug information.
//
// Sections get consecutive addresses, and relocations make the debug information refer to these (ELF, chapter 4,
// "Relocation"; for the types see the ABI of the processor). When the kernel loads a module, it chooses other addresses
// for each section. So an address here only identifies a section and an offset in it. Everything that reads programs
// can then read modules, too.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// What a relocation writes: the address of the symbol plus the addend, or the distance from the relocated place to it.
// It is a number with 32 or 64 bits, or a number of instructions of 4 bytes in the low 26 bits of an instruction.
enum class ObjectRelocation : uint8_t { Unknown, Nothing, Absolute32, Absolute64, Relative32, Relative64, Jump26 };
// Describes a type of relocation of a machine (EM_*).
using DescribeRelocation = std::function<ObjectRelocation(uint16_t machine, uint32_t type)>;

// Returns a file in memory. Debug information in it is relocated, and so are jumps and calls in its code; other
// operands and data are not. Symbols of other files have addresses behind all sections.
//
// Errors: the file is unreadable, truncated, or not a 64-bit object file, or its debug information is compressed or has
// unknown relocations.
Result<Fd> link_object(const std::string& path, const DescribeRelocation& describe);

} // namespace sonde
