// Formats a script for `sonde fmt` and for editors.
#pragma once

#include <string>
#include <string_view>

#include "base/diag.h"
#include "base/result.h"
#include "base/source.h"

namespace sonde {

// Returns the formatted script. Errors: the script does not parse, and `diags` has the reasons; or formatting would
// change its meaning, which is a bug of sonde.
//
// Only mistakes of syntax count. An unknown macro, for example, may be defined in a folder of -I, and a script argument
// (`$1`) may be anything. `diags` must be empty and refer to `sources`.
Result<std::string> format_checked(Sources& sources, FileId script, Diagnostics& diags);

} // namespace sonde
