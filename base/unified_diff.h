// The differences of two texts as a unified diff, as `diff -u` and `patch` know it.
#pragma once

#include <string>
#include <string_view>

namespace sonde {

// Returns the diff from `before` to `after`, with three lines of context; "" if the texts are equal. `old_name` and
// `new_name` are the files of its first two lines. If the texts differ in thousands of lines, the diff is correct but
// not the shortest one.
std::string unified_diff(std::string_view before, std::string_view after, const std::string& old_name,
                         const std::string& new_name);

} // namespace sonde
