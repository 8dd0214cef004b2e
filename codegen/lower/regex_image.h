// The compiled regular expression in the format that the routines read (codegen/rtlib/regex.h).
#pragma once

#include <string>

#include "base/regex.h"

namespace sonde {

std::string regex_image(const regex::Program& program);

} // namespace sonde
