// Labels in the source of a function.
#pragma once

#include <vector>

#include "frontend/dwarf/module_data.h"

namespace sonde {

class DebugFiles;
class ProgramFile;

// Returns the labels that have code, sorted by address.
std::vector<Label> labels_in(const ProgramFile& file, DebugFiles& debug, const FunctionInstance& function);

} // namespace sonde
