// Names for the parts of an array's key, as --label and comments in a script give them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// "task, file": the names without blanks around them.
std::vector<std::string> split_label_names(std::string_view list);

// Why these names cannot be the labels of an array whose key has that many parts; empty: they can. `keys` is 0 for a
// global that is not an array.
std::string why_no_labels(const std::string& array, size_t keys, const std::vector<std::string>& names);

} // namespace sonde
