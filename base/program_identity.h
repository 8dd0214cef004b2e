// Which program or library a file is: the same one that was read before, or another build of it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace sonde {

struct ProgramIdentity {
    std::string build_id; // lower-case hex; empty without
    // Without a build-id: the file's size, and a hash of its program headers and of all that they load. Else 0.
    uint64_t size = 0, hash = 0;

    bool operator==(const ProgramIdentity&) const = default;
};
// "build-id 0123...", "no build-id, 8192 bytes, hash 0123..."
std::string to_text(const ProgramIdentity& identity);

// Reads it through the descriptor: neither a name nor a mapping stands between, so that a file that is replaced or cut
// off meanwhile does no harm. Errors: it cannot be read, or is no ELF file.
Result<ProgramIdentity> identify_program(int fd);

// Up to `size` bytes at `offset`; fewer at the file's end.
Result<std::string> read_at(int fd, uint64_t offset, size_t size);

} // namespace sonde
