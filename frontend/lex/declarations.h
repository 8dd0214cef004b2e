// Lists the declarations in a library file without parsing it.
//
// The library has some hundred files, and a script uses few of them. This scan is fast enough to index all files at
// every start; the parser then reads only the files that declare a name the script uses (tapset/library.h).
#pragma once

#include <string_view>
#include <vector>

#include "base/source.h"

namespace sonde {

// Names in the order of declaration. The views point into the text in Sources.
struct Declarations {
    std::vector<std::string_view> functions; // without private ones
    std::vector<std::string_view> globals;   // without private ones
    std::vector<std::string_view> aliases;   // the first component of each alias's name
};

// Does not evaluate conditionals, so the result includes names in branches that are not taken. Ignores syntax errors;
// the parser reports them.
Declarations find_declarations(FileId file, const Sources& sources);

} // namespace sonde
