// The bytes of a section that may be compressed (SHF_COMPRESSED).
//
// Layout: the System V gABI, "Compression Header".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/elf_file.h"

namespace sonde {

// A copy of the section's bytes, unpacked. Nothing if there is no such section, if it is damaged, or if it says that it
// has more than `most` bytes or more than its packed bytes can become.
std::optional<std::string> read_section(const ElfFile& file, std::string_view name, uint64_t most);

} // namespace sonde
