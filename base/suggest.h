// "Did you mean": finds the names most similar to a misspelled one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The candidate that `wanted` most likely means; empty if none is similar. Similar names are equal except for case or
// for the order of the words between `_`, or at most a third of the letters (at least one) is wrong. Exchanged
// neighbors count as one wrong letter. Among equally similar candidates, one with the same length is preferred, then
// the first one.
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& candidates);

// Up to `max` such names, most similar first, without duplicates.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& candidates, size_t max);

} // namespace sonde
