// "Did you mean": the names nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The candidate that `wanted` most likely stands for; empty if none is near. Near is: the same but for case or for the
// order of the words between `_`, or at most a third of the letters (at least one) mistyped, where exchanging two
// neighbours counts once. Of equally near ones the one with the same length wins, then the first.
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& candidates);

// Up to `max` such names, nearest first, each once.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& candidates, size_t max);

} // namespace sonde
