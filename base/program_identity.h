// Identifies a build of a program or library, to recognize the same build later.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

// Equal identities stand for the same build.
struct ProgramIdentity {
    std::string build_id; // lower-case hexadecimal; empty if the file has none
    // For files without a build-id: the size, and a hash of the program headers and all data that they load. Otherwise
    // 0.
    uint64_t size = 0, hash = 0;

    bool operator==(const ProgramIdentity&) const = default;
};
// "build-id 0123...", or "no build-id, 8192 bytes, hash 0123..."
std::string to_text(const ProgramIdentity& identity);

// Reads through the descriptor, not by name or mapping, so it is safe if the file is replaced or truncated meanwhile.
// Errors: the file is unreadable or not an ELF file.
Result<ProgramIdentity> identify_program(int fd);

// Reads up to `size` bytes at `offset`, fewer at the end of the file.
Result<std::string> read_at(int fd, uint64_t offset, size_t size);

} // namespace sonde
