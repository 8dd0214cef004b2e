// Converts clang's positions to positions in the script.
#pragma once

#include <optional>
#include <string>

#include "base/diag.h"
#include "base/source.h"

namespace sonde {

// The name of a text in `#line`: its number, because two texts can have the same name.
std::string c_file_name(FileId file);
// nullopt if the position is not in the script. Lines and columns count from 1.
std::optional<Range> c_place(const Sources& sources, const std::string& file, unsigned line, unsigned column);

// Reports a call of a function that C cannot call, with an alternative.
void report_unknown_function(Diagnostics& diags, Range range, const std::string& name);

} // namespace sonde
