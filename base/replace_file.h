// Writes whole files that other programs read.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sonde {

// Creates or replaces the file atomically: readers see the old file or the complete new one. Errors: "cannot write
// `path`: ...".
Result<void> replace_file(const std::string& path, std::string_view data, unsigned mode = 0666);

// The same for a file that exists and belongs to the user: keeps its owner and mode, and follows symbolic links. Errors
// also: it is not a regular file, or a new file cannot have its owner.
Result<void> rewrite_file(const std::string& path, std::string_view data);

} // namespace sonde
