// Places of the script as clang tells them.
#pragma once

#include <optional>
#include <string>

#include "base/diag.h"
#include "base/source.h"

namespace sonde {

// What `#line` calls a text: its number, since two texts can have one name.
std::string c_file_name(FileId file);
// nullopt: it is not the script's. Lines and columns count from 1.
std::optional<Range> c_place(const Sources& sources, const std::string& file, unsigned line, unsigned column);

// Says that C calls what it cannot, and what to do instead.
void report_unknown_function(Diagnostics& diags, Range range, const std::string& name);

} // namespace sonde
