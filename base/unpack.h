// Decompresses data: a kernel's image, its modules, or a program's compressed symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Whether the data begins like xz, gzip, zstd, or lz4 in the form that Linux uses for its image.
bool is_packed(std::string_view bytes);

// Returns a file in memory with the decompressed bytes. Ignores bytes after the compressed data, where a kernel's image
// has its length. Errors: the data is damaged, the format is unknown, or the result has more than `most` bytes.
Result<Fd> unpack(std::string_view bytes, uint64_t most);

// How many bytes data from an unknown source may decompress to: 24 times its size or 16 MB, whichever is larger, but at
// most half of the available memory. Debug information and symbols usually have 2 to 6 times their compressed size, and
// those of a web browser 10 times. A decompression bomb has 1,000 times.
uint64_t unpacked_limit(uint64_t packed);

// For example "3.2 MB".
std::string size_text(uint64_t bytes);

} // namespace sonde
