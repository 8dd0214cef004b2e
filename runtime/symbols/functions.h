// The functions of a program or library, by address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

struct FunctionSymbol {
    uint64_t address = 0; // as linked
    uint64_t size = 0;
    std::string name; // readable_symbol()
    // Blocks that the compiler moved away from a function (`f.cold`): that one's address. The name is the function's,
    // and offsets count from there. 0: a function itself.
    uint64_t moved_from = 0;
};

// One for each address, sorted, without overlaps: of several names the one that programs call it by. A symbol without a
// size reaches up to the next one.
std::vector<FunctionSymbol> read_functions(const ElfFile& file);

} // namespace sonde
