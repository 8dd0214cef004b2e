// The pictures that a session leaves: which arrays they are made of, and where they go.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/pictures/flame.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/values/host_arrays.h"

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

// How a picture is pushed: what is sent with it, and whether somebody waits for the session's end. `print` takes a list
// of stacks whose file is `-`.
struct PicturePush {
    HttpSettings settings;
    std::function<bool()> hurry = [] { return false; };
    std::function<void(const std::string&)> print = [](const std::string&) {};
};
// Makes the file, or pushes what it would have. `base`: weights that a flame graph is compared with; null: none.
// Errors: it cannot be written; the server did not take it within half a minute.
Result<void> draw_picture(const plan::Plan& plan, Symbols& symbols, const ProcessNumbers& numbers, size_t global,
                          const std::vector<ArrayElement>& elements, const PictureRequest& request,
                          const FoldedWeights* base, const PicturePush& push = {});

} // namespace sonde
