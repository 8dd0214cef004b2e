// Stacks in the file formats of other programs that show them.
#pragma once

#include <string>
#include <vector>

#include "runtime/sinks/pictures/flame.h"

namespace sonde {

// A profile of speedscope's (https://www.speedscope.app/file-format-schema.json), of the type "sampled": each stack is
// a sample with its weight.
std::string speedscope_text(const std::vector<FlameStack>& stacks, const std::string& title);

// The tree that d3-flame-graph draws, by its README: name, value (that of a function and all that it calls), children.
std::string flame_tree_text(const std::vector<FlameStack>& stacks);

} // namespace sonde
