// Chooses the global for a picture, and draws pictures of stacks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/plan/plan.h"
#include "runtime/sinks/pictures/flame.h"
#include "runtime/sinks/pictures/request.h"
#include "runtime/values/host_arrays.h"

namespace sonde {

class ProcessNumbers;
class Symbolizer;

// Returns the index of the global that a picture is made of. An error message lists the globals that are suitable.
Result<size_t> find_pictured(const plan::Plan& plan, const PictureRequest& request);

// The stacks in an array's keys, weighted by the elements' values.
struct WeightedStacks {
    std::vector<FlameStack> stacks;
    uint64_t negative = 0; // elements that were omitted because their values are below 0
};
WeightedStacks weigh_stacks(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers, size_t global,
                            const std::vector<ArrayElement>& elements);

// How to push a picture, and how to print one whose file is `-`. `hurry()` is true if the user does not want to wait.
// `real_time()` is the time of a profile.
struct PicturePush {
    HttpSettings settings;
    std::function<bool()> hurry = [] { return false; };
    std::function<void(const std::string&)> print = [](const std::string&) {};
    std::function<int64_t()> real_time = real_time_ns;
};
// Writes or pushes a picture of an array with stacks in its keys. `base`: a profile to compare a flame graph with, or
// null. Fails if the file cannot be written, or if the server does not accept the profile within 30 seconds.
Result<void> draw_picture(const plan::Plan& plan, Symbolizer& symbols, const ProcessNumbers& numbers, size_t global,
                          const std::vector<ArrayElement>& elements, const PictureRequest& request,
                          const FoldedWeights* base, const PicturePush& push = {});

} // namespace sonde
