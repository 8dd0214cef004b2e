// The pictures that a session leaves: which arrays they are made of, and where they go.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/host_arrays.h"
#include "runtime/pictures/flame.h"
#include "runtime/pictures/request.h"
#include "runtime/plan.h"

namespace sonde {

class ProcessNumbers;
class Symbols;

// The global that the picture is made of, by its index. Errors say which arrays there are.
Result<size_t> find_pictured(const plan::Plan& plan, const PictureRequest& request);

// The elements of an array whose key has a stack, as stacks with their values as weights.
struct WeightedStacks {
    std::vector<FlameStack> stacks;
    uint64_t negative = 0; // elements that are left out, since their values are below 0
};
WeightedStacks weigh_stacks(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers, size_t global,
                            const std::vector<ArrayElement>& elements);

// Makes the file. `base`: weights that a flame graph is compared with; null: none. Errors: it cannot be written.
Result<void> draw_picture(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers, size_t global,
                          const std::vector<ArrayElement>& elements, const PictureRequest& request,
                          const FoldedWeights* base);

} // namespace sonde
