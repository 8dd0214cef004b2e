// Reads the notes of an ELF file (System V ABI, "Note Section"), such as the build-id and the marks of USDT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct ElfNote {
    uint32_t type = 0;
    std::string_view owner; // without its NUL
    std::string_view contents;
};

// Returns the notes in the bytes of a section or segment, up to the first one that is cut off. The notes must be
// little-endian. `alignment` is that of the section or segment: 8 means that names and contents are padded to 8 bytes,
// otherwise they are padded to 4. The bytes must outlive the result.
std::vector<ElfNote> read_notes(std::string_view bytes, uint64_t alignment = 4);

// Returns the build-id, a hash that the linker has computed (ld(1), --build-id); empty if there is none.
std::string_view find_build_id(std::string_view notes, uint64_t alignment = 4);

// Returns the hexadecimal digits by which build-ids are known.
std::string to_hex(std::string_view bytes);

} // namespace sonde
