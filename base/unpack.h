// What others have packed: a kernel's image, its modules, a program's packed symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sonde {

// Whether it begins like xz, gzip, zstd, or lz4 as Linux packs itself with it.
bool is_packed(std::string_view bytes);

// Gives a file in memory that holds the unpacked bytes. Bytes after the packed data are ignored: a kernel's image has
// its length there. Errors: the data is damaged, is_packed() does not know it, or it unpacks to more than `most` bytes.
Result<Fd> unpack(std::string_view bytes, uint64_t most);

// How many bytes may come of that many packed ones that somebody else made: 24 times as many, or 16 MB. Debug
// information and symbols take 2 to 6 times their packed size, a browser's 10 times; a bomb takes 1,000 times. And no
// more than half of the memory that the machine has left.
uint64_t unpacked_limit(uint64_t packed);

// "3.2 MB"
std::string size_text(uint64_t bytes);

} // namespace sonde
