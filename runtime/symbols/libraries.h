// The libraries that a program will be run with, found as the dynamic linker does (ld.so(8)).
#pragma once

#include <string>
#include <vector>

namespace sonde {

// Paths of what `program` needs, directly and indirectly, its dynamic linker among them; what is not found is left out.
std::vector<std::string> find_libraries(const std::string& program);

} // namespace sonde
