// A quick look whether debug information can mention a source file.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Whether the program or library may have been built from a source file with this name, which is without folders. True
// if that is not known: the debug information is compressed, or in another file. False if the file cannot be read.
// Takes some milliseconds for each 10 MB, a hundredth of the time for reading all line tables.
bool may_name_source(const std::string& program, std::string_view name);

} // namespace sonde
