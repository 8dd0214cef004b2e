// Reads the functions of a program or library, sorted by address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/elf_file.h"

namespace sonde {

// A function, or a block of one that the compiler has moved elsewhere.
struct FunctionSymbol {
    uint64_t address = 0; // as linked
    uint64_t size = 0;
    std::string name; // demangled by readable_symbol()
    // The compiler may move cold blocks of a function elsewhere (`f.cold`). For such blocks: the address of the
    // function itself. `name` is the function's name, and offsets count from there. 0 for functions.
    uint64_t moved_from = 0;
};

// Returns one entry for each address, sorted, without overlaps. Of several symbols at one address, the one that
// programs call wins (Candidate::rank). A symbol without a size extends to the next symbol.
std::vector<FunctionSymbol> read_functions(const ElfFile& file);

} // namespace sonde
