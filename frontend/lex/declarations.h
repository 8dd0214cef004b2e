// What a library text declares, without parsing it.
#pragma once

#include <string_view>
#include <vector>

#include "base/source.h"

namespace sonde {

// Names in the order of declaration; the views last as long as the text in Sources.
struct Declarations {
    std::vector<std::string_view> functions; // not private ones
    std::vector<std::string_view> globals;   // not private ones
    std::vector<std::string_view> aliases;   // the first component of each name
};

// Conditionals are not evaluated: what they leave out is named, too. Errors in the text are for the parser to report.
Declarations find_declarations(FileId file, const Sources& sources);

} // namespace sonde
