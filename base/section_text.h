// Reads sections that may be compressed (SHF_COMPRESSED).
//
// For the layout see the System V gABI, "Compression Header".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/elf_file.h"

namespace sonde {

// A decompressed copy of the section's bytes. nullopt if the section does not exist or is damaged, or if its stated
// size is more than `most` bytes or more than its compressed bytes can yield.
std::optional<std::string> read_section(const ElfFile& file, std::string_view name, uint64_t most);

} // namespace sonde
