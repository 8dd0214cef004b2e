// Finds the libraries that a program will load, by the rules of the dynamic linker (ld.so(8)).
#pragma once

#include <string>
#include <vector>

namespace sonde {

// Returns the paths of all libraries that `program` needs, directly or indirectly, and of its dynamic linker. Skips
// libraries that do not exist. Includes only those in DT_NEEDED, not those loaded by dlopen(3).
std::vector<std::string> find_libraries(const std::string& program);

} // namespace sonde
