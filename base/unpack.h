// What others have packed: a kernel's image, its modules, a program's packed symbols.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Whether it begins like xz, gzip, zstd, or lz4 as Linux packs itself with it.
bool is_packed(std::string_view bytes);

// A file in memory with what is packed there. What stands after the packed data is no part of it, as the length behind
// a kernel's image. Errors: it is damaged, packed in a way that is_packed() does not know, or more than `most` bytes.
Result<Fd> unpack(std::string_view bytes, uint64_t most);

} // namespace sonde
