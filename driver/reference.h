// Searches the reference of the language, for `sonde help WORD` and for searches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// Returns the rows of tables and the sentences whose code contains the whole word, as plain text. A row begins with its
// first cell.
std::vector<std::string> find_in_reference(std::string_view page, std::string_view word);

} // namespace sonde
