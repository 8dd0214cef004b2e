// What is wrong with the words of a command line, in sonde's own words.
#pragma once

#include <string>

namespace sonde {

// CLI11's message, `text`, as sonde says it: without ERROR, without an end of line.
std::string explain_option_error(const std::string& text);

} // namespace sonde
