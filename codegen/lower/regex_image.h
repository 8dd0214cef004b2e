// The compiled regular expression in the format that the routines read (codegen/rtlib/regex.h).
#pragma once

#include <string>

#include "base/regex.h"

namespace sonde {

// Returns the bytes of a struct sonde_regex, followed by the operations and the table.
std::string regex_image(const regex::Program& program);

} // namespace sonde
