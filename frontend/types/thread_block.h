// Where a module's thread-local variables are in a thread, as far as its file tells (thread_storage.cc).
#pragma once

#include <cstdint>
#include <optional>

#include "base/elf_file.h"

namespace sonde {

struct ThreadBlock {
    std::optional<int64_t> distance; // a program's: from the thread pointer, negative. A library's is known at run time
};

// Nullopt: the module has no thread-local variables, or says of them what cannot be.
std::optional<ThreadBlock> find_thread_block(const ElfFile& file);

} // namespace sonde
