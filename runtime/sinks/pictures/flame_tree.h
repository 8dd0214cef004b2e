// Merges stacks into a tree with a node for each function in each context, as a flame graph shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sinks/pictures/flame.h"

namespace sonde {

// A node of the tree.
struct FlameBox {
    FlameFrame frame;
    uint64_t weight = 0;
    double before = 0; // the weight in an earlier profile, scaled to this one
    std::vector<std::unique_ptr<FlameBox>> callees;

    // Returns the callee for a function, and creates it if necessary.
    FlameBox& callee(const FlameFrame& called);
    // Sorts the callees of all nodes by name.
    void sort();
    size_t depth() const; // nodes on the longest path to a leaf, including this one
};

// Returns the root, named `all`. All stacks begin there. The tree is sorted.
FlameBox merge_stacks(const std::vector<FlameStack>& stacks);

// Returns the tree as lines for a terminal, heaviest callees first: percentage, bar, and function, indented by depth.
// Callees below `least_part` of the total are summed up in one line.
std::vector<std::string> flame_lines(const FlameBox& root, double least_part);

} // namespace sonde
