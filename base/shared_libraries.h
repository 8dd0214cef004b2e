// The shared libraries that a program begins with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde {

// The program's loader and the libraries that it maps before main(), found in the places and the order of ld.so(8): the
// needed ones of each object, breadth first. Paths as the loader has them; what is not found is left out. Empty for
// what is linked statically and for what is no ELF file.
std::vector<std::string> shared_libraries(const std::string& program);

// The paths of the libraries in the loader's cache (ldconfig(8)), those of programs like this one.
std::vector<std::string> installed_libraries();

// The files with code that a running process has mapped, other than its program; what dlopen() has brought too.
std::vector<std::string> mapped_libraries(int64_t pid);

// The mapped file behind an address of a running process, and the place in it.
struct MappedAt {
    std::string path;
    uint64_t offset = 0;
};
std::optional<MappedAt> mapped_at(int64_t pid, uint64_t address);

} // namespace sonde
