// What the language's reference says of a word, for `sonde help WORD` and searches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// The rows of tables, and lines of texts, whose code has the word as a whole one: as plain text, what it is about
// first.
std::vector<std::string> find_in_reference(std::string_view page, std::string_view word);

} // namespace sonde
