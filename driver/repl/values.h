// Prints the globals of an interactive session.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runtime/load/shared_maps.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/values/array_values.h"

namespace sonde::repl {

// Writes text for the user. Returns false to stop, because the user has pressed Ctrl-C.
using Write = std::function<bool(const std::string& text)>;

struct ValueSettings {
    uint32_t max_string = 512; // Plan::max_string
};

// The components of an element's key; none: all elements.
using Keys = std::vector<KeyValue>;

// Prints a global as the end of a session does: `hits["tea"]=3`, the largest elements of an array first.
void print_global(const plan::Global& global, const Keys& keys, const SharedMaps& maps, const ValueSettings& settings,
                  const Write& write);
// Prints the largest `most` elements of an array, with bars. Statistics are ordered by their numbers of values.
void print_top(const plan::Global& global, const SharedMaps& maps, size_t most, const ValueSettings& settings,
               const Write& write);
// Draws the histogram of a statistic; of an array, those of its elements with most values.
void print_histograms(const plan::Global& global, const Keys& keys, const SharedMaps& maps,
                      const ValueSettings& settings, const Write& write);

} // namespace sonde::repl
