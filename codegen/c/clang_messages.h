// What clang says of the script's C, as messages about the script.
#pragma once

#include <string>
#include <vector>

#include "base/diag.h"

namespace sonde {

// `messages`: "FILE:LINE:COLUMN: error: text", a line each. `places`: where the script has C; what clang finds beyond
// their ends, in sonde's own C, is told of the one before.
void report_clang_messages(const std::string& messages, const std::vector<Range>& places, Diagnostics& diags);

} // namespace sonde
