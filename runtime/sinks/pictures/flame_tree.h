// Stacks joined to a tree: a box for each function in each context, as flame graphs show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sinks/pictures/flame.h"

namespace sonde {

struct FlameBox {
    FlameFrame frame;
    uint64_t weight = 0;
    double before = 0; // the weight in an earlier file, in this one's scale
    std::vector<std::unique_ptr<FlameBox>> callees;

    // The one of that function; it is made where there is none.
    FlameBox& callee(const FlameFrame& called);
    // Callees in alphabetical order, everywhere.
    void sort();
    size_t depth() const; // boxes on the way to the farthest leaf, this one included
};

// The root is what all stacks have in common, `all`. Sorted.
FlameBox merge_stacks(const std::vector<FlameStack>& stacks);

// The tree as lines for a terminal, the heaviest callees first: its part of the whole, a bar, and the function, set in
// by its depth. What weighs less than `least_part` of the whole is left out and summed up in a line.
std::vector<std::string> flame_lines(const FlameBox& root, double least_part);

} // namespace sonde
