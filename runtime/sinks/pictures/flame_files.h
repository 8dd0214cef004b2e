// Stacks in the file formats of other viewers.
#pragma once

#include <string>
#include <vector>

#include "runtime/sinks/pictures/flame.h"

namespace sonde {

// Returns a speedscope profile of the type "sampled": each stack is a sample with its weight
// (https://www.speedscope.app/file-format-schema.json).
std::string speedscope_text(const std::vector<FlameStack>& stacks, const std::string& title);

// Returns the tree for d3-flame-graph in the format of its README: name, value (of the function and all its callees),
// children.
std::string flame_tree_text(const std::vector<FlameStack>& stacks);

} // namespace sonde
