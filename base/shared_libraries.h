// Finds the shared libraries of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/library_search.h"

namespace sonde {

// The program's loader and the libraries that it maps before main(), found as in ld.so(8): the needed libraries of each
// object, breadth first. Paths are as the loader uses them. Missing libraries are left out. Empty for statically linked
// programs and for files that are not ELF.
std::vector<std::string> shared_libraries(const std::string& program, const LibrarySearch& search);

// The paths of libraries in the loader's cache (ldconfig(8)), for programs of the same kind as sonde.
std::vector<std::string> installed_libraries(const LibrarySearch& search);

// The files with code that a running process has mapped, except its program. Includes libraries from dlopen().
std::vector<std::string> mapped_libraries(int64_t pid);

// A mapped file and the offset of an address in it.
struct MappedAt {
    std::string path;
    uint64_t offset = 0;
};
std::optional<MappedAt> mapped_at(int64_t pid, uint64_t address);

} // namespace sonde
