// Writes whole files that other programs read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// Creates or replaces the file atomically: readers see the old file or the complete new one. Errors: "cannot write
// `path`: ...".
Result<void> replace_file(const std::string& path, std::string_view data, unsigned mode = 0666);

} // namespace sonde
