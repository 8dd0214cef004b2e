// What the language's reference says of a word, for `sonde help WORD` and searches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde {

// What the page says of a word of the language: the rows of tables and the lines that have it, whole, in code. As plain
// text, each with what it is about first.
std::vector<std::string> find_in_reference(std::string_view page, std::string_view word);

} // namespace sonde
